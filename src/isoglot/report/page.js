"use strict";
(() => {
  const styles = () => getComputedStyle(document.documentElement);
  // Colours may name a CSS variable of the page; other texts are left alone, since a word may look like one.
  const resolve = (value, key, css) => {
    if (Array.isArray(value)) return value.map((item) => resolve(item, key, css));
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, resolve(v, k, css)]));
    const isColour = typeof value === "string" && key.toLowerCase().endsWith("color") && value.startsWith("--");
    return isColour ? css.getPropertyValue(value).trim() : value;
  };
  const figures = [...document.querySelectorAll(".plot")].map((place) => ({
    place,
    figure: JSON.parse(place.querySelector("script").textContent),
  }));
  const draw = () => {
    const css = styles();
    const axis = { gridcolor: "--line", zerolinecolor: "--line", linecolor: "--line", automargin: true };
    for (const { place, figure } of figures) {
      const layout = {
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        font: { color: "--text", family: getComputedStyle(document.body).fontFamily, size: 13 },
        margin: { l: 50, r: 14, t: 10, b: 44 },
        legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
        modebar: { bgcolor: "rgba(0,0,0,0)", color: "--soft", activecolor: "--text" },
        hoverlabel: { bgcolor: "--card", bordercolor: "--line", font: { color: "--text" } },
        ...figure.layout,
        xaxis: { ...axis, ...(figure.layout.xaxis || {}) },
        yaxis: { ...axis, ...(figure.layout.yaxis || {}) },
      };
      Plotly.react(place, resolve(figure.data, "", css), resolve(layout, "", css), {
        responsive: true, displaylogo: false, displayModeBar: "zoom" in place.dataset && "hover",
        // Named one by one: some of plotly's own buttons would send data to its servers.
        modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
      });
    }
  };
  if (figures.length && window.Plotly) {
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }

  for (const tools of document.querySelectorAll(".tools")) {
    const rows = [...document.getElementById(tools.dataset.table).tBodies[0].rows];
    const texts = rows.map((row) => row.textContent.toLocaleLowerCase());
    const input = tools.querySelector("input");
    const buttons = [...tools.querySelectorAll("button")];
    const output = tools.querySelector("output");
    let kind = "";
    const show = () => {
      const wanted = input.value.trim().toLocaleLowerCase();
      let shown = 0;
      rows.forEach((row, i) => {
        const visible = (!kind || row.dataset.kind === kind) && (!wanted || texts[i].includes(wanted));
        row.hidden = !visible;
        shown += visible;
      });
      output.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
    };
    input.addEventListener("input", show);
    for (const button of buttons)
      button.addEventListener("click", () => {
        kind = button.dataset.kind;
        buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        show();
      });
    show();
  }
})();
