#!/bin/sh
# Rebuild the fonts beside this file from Debian's: subset.sh /usr/share/fonts/truetype/noto
set -eu
from=$1
here=$(dirname "$0")
latin=U+0020-007E,U+00A0-024F,U+0259,U+02B0-02FF,U+0300-036F,U+0370-03FF,U+0400-04FF,U+1E00-1EFF,U+2000-206F
latin=$latin,U+2070-209F,U+20A0-20BF,U+2100-214F,U+2190-2193,U+2212,U+221E,U+2248,U+2260,U+2264,U+2265,U+25CC
latin=$latin,U+FB00-FB06,U+FFFD
arabic=U+0020,U+00A0,U+0600-06FF,U+0750-077F,U+200C-200F,U+2010,U+2026,U+25CC,U+FD3E,U+FD3F,U+FDF2

subset() {
    pyftsubset "$from/$1.ttf" --output-file="$here/$1.ttf" --unicodes="$2" --layout-features='*' --no-hinting \
        --name-IDs='*' --notdef-outline
}

for weight in Regular Bold; do
    subset "NotoSans-$weight" "$latin"
    subset "NotoSansArabic-$weight" "$arabic"
done
subset NotoSansMono-Regular U+0020-007E
cd "$here"
sha256sum -- *.ttf
