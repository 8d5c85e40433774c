"""WebKitGTK's MiniBrowser: open the URLs of the command line one after the other, each as a page, in one session."""

import sys
from pathlib import Path

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import WebKitGTK, WebKitGTKOptions
from selenium.webdriver.webkitgtk.service import Service

options = WebKitGTKOptions()
options.binary_location = str(next(Path("/usr/lib").glob("*/webkit2gtk-*/MiniBrowser")))
options.add_argument("--automation")
driver = WebKitGTK(options=options, service=Service(executable_path="/usr/bin/WebKitWebDriver"))
try:
    for url in sys.argv[1:]:
        try:
            driver.get(url)
        except WebDriverException as error:
            sys.stderr.write(f"{error.msg}\n")
finally:
    driver.quit()
