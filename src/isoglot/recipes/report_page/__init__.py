"""The parts of the report page, one a file. Each builder takes plain data and gives a `Section`."""

from __future__ import annotations

from isoglot.recipes.report_page.answers import answers_section
from isoglot.recipes.report_page.audit import audit_sections
from isoglot.recipes.report_page.bands import bands_section
from isoglot.recipes.report_page.comparison import comparison_section, criteria_section
from isoglot.recipes.report_page.figures import figures_section
from isoglot.recipes.report_page.hubs import HubnessCounts, count_hubs, hubness_section
from isoglot.recipes.report_page.joint import ablation_section, kinds_section
from isoglot.recipes.report_page.maps import LanguageMap, draw_map, maps_section
from isoglot.recipes.report_page.page import Section, render_page
from isoglot.recipes.report_page.plots import plot
from isoglot.recipes.report_page.provenance import DataSource, provenance_section
from isoglot.recipes.report_page.tables import table

__all__ = [
    "DataSource",
    "HubnessCounts",
    "LanguageMap",
    "Section",
    "ablation_section",
    "answers_section",
    "audit_sections",
    "bands_section",
    "comparison_section",
    "count_hubs",
    "criteria_section",
    "draw_map",
    "figures_section",
    "hubness_section",
    "kinds_section",
    "maps_section",
    "plot",
    "provenance_section",
    "render_page",
    "table",
]
