// What a still picture cannot do: show the value one points at, hide a series, look closer at a map of words.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const UNITS = 1000, DEEPEST = 60, REACH = 24;
  const make = (name, attributes) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  // Marks that keep the direction of a word from turning its neighbours round.
  const isolated = (text) => `\u2068${text}\u2069`;

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const showTip = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(4, x - box.width / 2), document.documentElement.clientWidth - box.width - 4);
    tip.style.transform = `translate(${left}px, ${y - box.height - 12 < 4 ? y + 16 : y - box.height - 12}px)`;
  };
  const hideTip = () => { tip.hidden = true; };
  addEventListener("scroll", hideTip, { passive: true });

  const legendOf = (plot, changed) => {
    const buttons = [...plot.querySelectorAll(".legend button")];
    const off = new Set();
    const apply = () => {
      for (const mark of plot.querySelectorAll(".drawing [data-key]"))
        mark.classList.toggle("off", mark.dataset.key.split(" ").some((key) => off.has(key)));
    };
    for (const button of buttons)
      button.addEventListener("click", () => {
        const { key } = button.dataset;
        if (!off.delete(key)) off.add(key);
        button.setAttribute("aria-pressed", String(!off.has(key)));
        hideTip();
        changed();
        apply();
      });
    return { off, apply };
  };

  const chart = (plot) => {
    legendOf(plot, () => {});
    const area = plot.querySelector(".area");
    const marks = [...area.querySelectorAll("[data-tip]")];
    const point = (event) => {
      let best = null, nearest = REACH;
      for (const mark of marks) {
        if (mark.classList.contains("off")) continue;
        const box = (mark.firstElementChild || mark).getBoundingClientRect();
        const x = Math.max(box.left - event.clientX, event.clientX - box.right, 0);
        const y = Math.max(box.top - event.clientY, event.clientY - box.bottom, 0);
        const distance = Math.hypot(x, y);
        if (distance < nearest) { nearest = distance; best = { mark, box }; }
      }
      if (!best) return hideTip();
      showTip(best.mark.dataset.tip, (best.box.left + best.box.right) / 2, best.box.top);
    };
    area.addEventListener("pointermove", point);
    area.addEventListener("pointerdown", point);
    area.addEventListener("pointerleave", hideTip);
  };

  const cloud = (plot, data) => {
    const area = plot.querySelector(".area");
    const stretched = area.querySelector(".stretched");
    const layer = area.querySelector(".words");
    const still = [...layer.childNodes];
    const groups = [...stretched.querySelectorAll(".dots")].map((path) => {
      const key = Number(path.dataset.key);
      const places = path.getAttribute("d").split("M").slice(1).map((step) => step.split(/[ h]/, 2).map(Number));
      return { key, places, words: data.words[key], colour: path.style.color };
    });
    const told = (group, i) => {
      const other = data.paired ? data.words[1 - group.key][i] : null;
      return other === null ? group.words[i] : `${isolated(group.words[i])} – ${isolated(other)}`;
    };
    const view = { x: 0, y: 0, size: UNITS };
    const legend = legendOf(plot, () => { if (view.size < UNITS) nameWords(); });

    const canvas = document.createElement("canvas").getContext("2d");
    canvas.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const onScreen = (place, box) =>
      [(place[0] - view.x) / view.size * box.width, (place[1] - view.y) / view.size * box.height];
    // Where one has looked closer, there is room for other labels: the most frequent words first, none over another.
    const nameWords = () => {
      if (view.size === UNITS) { layer.replaceChildren(...still); return; }
      const box = area.getBoundingClientRect();
      const taken = [], texts = [];
      const visible = groups.filter((group) => !legend.off.has(String(group.key)));
      const longest = Math.max(0, ...visible.map((group) => group.places.length));
      for (let i = 0; i < longest && taken.length < 60; i += 1)
        for (const group of visible) {
          if (i >= group.places.length) continue;
          const [x, y] = onScreen(group.places[i], box);
          if (x < 0 || y < 14 || x > box.width || y > box.height) continue;
          const half = canvas.measureText(group.words[i]).width / 2 + 2;
          if (x < half || x + half > box.width) continue;
          if (taken.some((one) => Math.abs(one.x - x) < one.half + half && Math.abs(one.y - y) < 15)) continue;
          taken.push({ x, y, half });
          const text = make("text", { x, y, dy: -6, "data-key": group.key });
          text.style.color = group.colour;
          text.textContent = group.words[i];
          texts.push(text);
        }
      layer.replaceChildren(...texts);
    };
    let waiting = 0;
    const look = () => {
      view.size = Math.min(UNITS, Math.max(UNITS / DEEPEST, view.size));
      view.x = Math.min(Math.max(0, view.x), UNITS - view.size);
      view.y = Math.min(Math.max(0, view.y), UNITS - view.size);
      plot.classList.toggle("zoomed", view.size < UNITS);
      if (waiting) return;
      waiting = requestAnimationFrame(() => {
        waiting = 0;
        stretched.setAttribute("viewBox", `${view.x} ${view.y} ${view.size} ${view.size}`);
        nameWords();
        legend.apply();
      });
    };
    const zoom = (factor, clientX, clientY) => {
      const box = area.getBoundingClientRect();
      const x = (clientX - box.left) / box.width, y = (clientY - box.top) / box.height;
      const size = Math.min(UNITS, Math.max(UNITS / DEEPEST, view.size / factor));
      view.x += x * (view.size - size);
      view.y += y * (view.size - size);
      view.size = size;
      hideTip();
      look();
    };
    const middle = () => {
      const box = area.getBoundingClientRect();
      return [box.left + box.width / 2, box.top + box.height / 2];
    };

    const point = (event) => {
      const box = area.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      let best = null, nearest = REACH;
      for (const group of groups) {
        if (legend.off.has(String(group.key))) continue;
        for (let i = 0; i < group.places.length; i += 1) {
          const [a, b] = onScreen(group.places[i], box);
          const distance = Math.hypot(a - x, b - y);
          if (distance < nearest) { nearest = distance; best = { group, i, a, b }; }
        }
      }
      layer.querySelector("circle")?.remove();
      if (!best) return hideTip();
      layer.append(make("circle", { cx: best.a, cy: best.b, r: 6 }));
      showTip(told(best.group, best.i), box.left + best.a, box.top + best.b);
    };
    const leave = () => { layer.querySelector("circle")?.remove(); hideTip(); };

    const fingers = new Map();
    area.addEventListener("pointerdown", (event) => {
      if (event.target.closest(".zoom")) return;
      fingers.set(event.pointerId, event);
      if (view.size < UNITS || fingers.size > 1) area.setPointerCapture(event.pointerId);
      point(event);
    });
    area.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return point(event);
      const box = area.getBoundingClientRect();
      const others = [...fingers.values()].filter((one) => one.pointerId !== event.pointerId);
      if (others.length) {
        const apart = (one) => Math.hypot(one.clientX - others[0].clientX, one.clientY - others[0].clientY);
        zoom(apart(event) / Math.max(1, apart(before)),
          (event.clientX + others[0].clientX) / 2, (event.clientY + others[0].clientY) / 2);
      } else if (view.size < UNITS) {
        view.x -= (event.clientX - before.clientX) / box.width * view.size;
        view.y -= (event.clientY - before.clientY) / box.height * view.size;
        leave();
        look();
      }
      fingers.set(event.pointerId, event);
    });
    for (const name of ["pointerup", "pointercancel"])
      area.addEventListener(name, (event) => fingers.delete(event.pointerId));
    area.addEventListener("pointerleave", (event) => { fingers.delete(event.pointerId); leave(); });
    area.addEventListener("dblclick", (event) => {
      if (!event.target.closest(".zoom")) zoom(2, event.clientX, event.clientY);
    });
    // The wheel alone scrolls the page; with Ctrl, which is also what pinching a trackpad sends, it zooms.
    area.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), event.clientX, event.clientY);
    }, { passive: false });
    const buttons = area.querySelector(".zoom");
    buttons.hidden = false;
    buttons.addEventListener("click", (event) => {
      const kind = event.target.dataset.zoom;
      if (kind === "reset") Object.assign(view, { x: 0, y: 0, size: UNITS });
      if (kind === "reset") return look();
      if (kind) zoom(kind === "in" ? 1.6 : 1 / 1.6, ...middle());
    });
    new ResizeObserver(() => { if (view.size < UNITS) look(); }).observe(area);
  };

  for (const plot of document.querySelectorAll(".plot")) {
    const data = plot.querySelector("script");
    if (data) cloud(plot, JSON.parse(data.textContent));
    else chart(plot);
  }
})();
