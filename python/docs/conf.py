"""How the reference is built: ``sphinx-build python/docs site``."""

import seabed

project = "seabed"
author = "The seabed developers"
copyright = author
release = version = seabed.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.intersphinx", "numpydoc", "myst_parser"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["*.ipynb"]
html_theme = "furo"
html_title = f"seabed {version}"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autosummary_generate = True
# What scikit-learn adds to an estimator has links into its own site.
autodoc_default_options = {"members": True, "exclude-members": "set_fit_request, set_score_request"}
# Each member has its own entry.
numpydoc_show_class_members = False
# Links to other projects need the network; the site is whole without them.
intersphinx_mapping = {}
myst_enable_extensions = ["deflist"]
suppress_warnings = ["myst.xref_missing", "myst.header"]
