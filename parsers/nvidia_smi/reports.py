"""The outputs of nvidia-smi that report on GPUs."""

from __future__ import annotations

from ..tool import Tool
from .dmon import is_dmon, parse_dmon
from .errors import is_complaints, parse_complaints
from .list_gpus import is_gpu_list, parse_gpu_list
from .query_csv import is_query_csv, parse_query_csv
from .query_excerpt import is_query_excerpt, parse_query_excerpt
from .query_text import is_query_text, parse_query_text
from .query_xml import is_query_xml, parse_query_xml
from .retired_pages import is_retired_pages, parse_retired_pages
from .table import is_table, parse_table

REPORTS: tuple[Tool, ...] = (
    Tool("nvidia-smi -q -x", is_query_xml, parse_query_xml, file_names=("*nvidia*smi*.xml", "q-x-*")),
    Tool("nvidia-smi -q", is_query_text, parse_query_text, file_names=("*nvidia*smi*-q*", "*nvsmi*", "q-*")),
    Tool("nvidia-smi -q excerpt", is_query_excerpt, parse_query_excerpt, file_names=()),
    Tool("nvidia-smi --query-gpu", is_query_csv, parse_query_csv, file_names=("*nvidia*smi*.csv", "query-gpu*")),
    Tool(
        "nvidia-smi --query-retired-pages",
        is_retired_pages,
        parse_retired_pages,
        file_names=("*retired*pages*",),
    ),
    Tool("nvidia-smi -L", is_gpu_list, parse_gpu_list, file_names=("*nvidia*smi*-l*", "list-l*")),
    Tool("nvidia-smi dmon", is_dmon, parse_dmon, file_names=("*dmon*",)),
    Tool("nvidia-smi", is_table, parse_table, file_names=("*nvidia*smi*", "table-*")),
    Tool("nvidia-smi complaint", is_complaints, parse_complaints, file_names=("*nvidia*smi*err*", "err-*")),
)
