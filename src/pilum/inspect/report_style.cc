#include "pilum/inspect/report.h"

namespace pilum {

std::string ReportStyle() {
  return R"css(
:root{color-scheme:light dark;--bg:#f5f6f8;--card:#fff;--ink:#1b2430;--soft:#5d6b7c;--line:#e3e7ec;--needed:#2f6bd8;--needed-soft:#2f6bd822;
--beside:#e8a33d;--nobody:#d4574e;--good:#2b8a5f;--chip:#eef1f5;--shadow:0 1px 2px #1b24300d,0 4px 16px #1b24300a}
@media(prefers-color-scheme:dark){:root{--bg:#0e1217;--card:#161c24;--ink:#e4e9f0;--soft:#93a1b3;--line:#263040;--needed:#6ea2ff;
--needed-soft:#6ea2ff26;--beside:#e0a94e;--nobody:#ee7d73;--good:#5fc294;--chip:#202938;--shadow:none}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1080px;margin:0 auto;padding:36px 20px 60px}
header h1{margin:0;font-size:28px;letter-spacing:-.01em;overflow-wrap:anywhere}
header p,.foot{margin:4px 0 0;color:var(--soft)}
h2{font-size:17px;margin:0 0 2px}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;box-shadow:var(--shadow);padding:20px 22px;margin-top:18px}
section>p{margin:0 0 12px;color:var(--soft);font-size:14px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(128px,1fr));gap:12px;margin-top:22px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:12px;box-shadow:var(--shadow);padding:14px 16px}
.tile b{display:block;white-space:nowrap;font-size:21px;font-weight:650;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:13px}
.tile.warm b{color:var(--beside)}.tile.bad b{color:var(--nobody)}.tile.good b{color:var(--good)}
svg{display:block;width:100%;height:auto;overflow:visible}
.grid{stroke:var(--line);stroke-width:1}.tick{fill:var(--soft);font-size:12px}
.needed{fill:var(--needed)}.line{fill:var(--needed-soft);stroke:var(--needed);stroke-width:1.5}.beside{fill:var(--beside)}.nobody{fill:var(--nobody)}
.hover{fill:transparent}.hover:hover{fill:var(--ink);fill-opacity:.08}
.panel{margin-top:10px}.panel h3{margin:0 0 2px;font-size:13px;font-weight:600;color:var(--soft)}
.key{display:flex;flex-wrap:wrap;gap:6px 18px;font-size:13px;color:var(--soft);margin:8px 0 4px}
.key i,.dot{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
.c-needed{background:var(--needed)}.c-beside{background:var(--beside)}.c-nobody{background:var(--nobody)}.c-book{background:var(--soft)}
.stack{display:flex;height:18px;border-radius:6px;overflow:hidden;background:var(--chip);margin:12px 0 4px}
.stack div{min-width:2px}
table{width:100%;border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto}
th{text-align:left;font-weight:600;color:var(--soft);font-size:12.5px;padding:6px 12px 6px 0;border-bottom:1px solid var(--line);white-space:nowrap}
td{padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
tr:last-child td{border-bottom:0}
th.n,td.n{text-align:right;white-space:nowrap;padding-right:4px;padding-left:12px}
.bars{display:grid;grid-template-columns:minmax(80px,max-content) minmax(60px,max-content) 1fr max-content;gap:7px 14px;align-items:center;font-size:14px}
.bars .name{font-weight:600;overflow-wrap:anywhere;max-width:22em}.bars .type{color:var(--soft);font-size:12.5px;max-width:22em;overflow-wrap:anywhere}
.bars .bar{background:var(--chip);border-radius:5px;height:12px;overflow:hidden}.bars .bar div{height:100%;background:var(--needed);border-radius:5px;min-width:2px}
.bars .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
ul.cards{list-style:none;margin:10px 0 0;padding:0;display:grid;gap:10px}
ul.cards li{border:1px solid var(--line);border-left:4px solid var(--soft);border-radius:8px;padding:10px 14px;overflow-wrap:anywhere}
li.problem{border-left-color:var(--nobody)!important}li.advice{border-left-color:var(--beside)!important}
li small{display:block;color:var(--soft)}
code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--chip);border-radius:5px;padding:2px 7px;overflow-wrap:anywhere}
td code{white-space:nowrap}
li code{display:inline-block;margin-top:6px}
.fine{color:var(--good);font-weight:600}
@media(max-width:620px){.bars{grid-template-columns:1fr max-content}.bars .type,.bars .bar{grid-column:1/-1}}
@media print{body{background:#fff}section,.tile{break-inside:avoid;box-shadow:none}}
)css";
}

}  // namespace pilum
