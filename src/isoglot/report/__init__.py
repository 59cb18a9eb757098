"""The report page and pictures: each builder takes plain data and returns a section or a drawing."""

from isoglot.report.alignment_picture import LARGEST as LARGEST, alignment_picture as alignment_picture
from isoglot.report.alignment_report import Report as Report, write_report as write_report
from isoglot.report.answers import answers_section as answers_section
from isoglot.report.audit import audit_sections as audit_sections
from isoglot.report.axes import Axis as Axis
from isoglot.report.bands import bands_section as bands_section
from isoglot.report.clouds import Cloud as Cloud, cloud_plot as cloud_plot
from isoglot.report.comparison import comparison_section as comparison_section, criteria_section as criteria_section
from isoglot.report.comparison_picture import comparison_picture as comparison_picture
from isoglot.report.figures import figures_section as figures_section
from isoglot.report.hubs import (
    HubnessCounts as HubnessCounts,
    count_hubs as count_hubs,
    hubness_section as hubness_section,
)
from isoglot.report.joint import ablation_section as ablation_section, kinds_section as kinds_section
from isoglot.report.language_bars import (
    language_bars as language_bars,
    table_section as table_section,
    write_table_page as write_table_page,
)
from isoglot.report.maps import LanguageMap as LanguageMap, draw_map as draw_map, maps_section as maps_section
from isoglot.report.page import Section as Section, render_page as render_page
from isoglot.report.picture_file import check_picture as check_picture, write_picture as write_picture
from isoglot.report.plots import percent_tips as percent_tips, plot as plot
from isoglot.report.provenance import DataSource as DataSource, provenance_section as provenance_section
from isoglot.report.series import Look as Look, Series as Series, look as look
from isoglot.report.tables import (
    Table as Table,
    decimals as decimals,
    escape as escape,
    percent as percent,
    table as table,
)
from isoglot.report.transfer import (
    transfer_sections as transfer_sections,
    write_transfer_page as write_transfer_page,
)
