/** Style of the setup page: one set of names for both color schemes, and nothing is loaded from elsewhere. */
export const setupStyle = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#ffffff, #14171c);
  --raised: light-dark(#f4f6f8, #1d2229);
  --ink: light-dark(#1b2430, #e6eaf0);
  --soft: light-dark(#566273, #9aa7b8);
  --line: light-dark(#d6dce3, #343c47);
  --accent: light-dark(#1a56c4, #8ab4ff);
  --on-accent: light-dark(#ffffff, #0d1420);
  --good: light-dark(#14683a, #74d69d);
  --bad: light-dark(#a3222a, #ff9a9f);
}
* { box-sizing: border-box; }
body {
  margin: 0 auto;
  max-width: 48rem;
  padding: 2rem 1.25rem 4rem;
  background: var(--paper);
  color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif;
  overflow-wrap: break-word;
}
h1 { margin: 0 0 .5rem; font-size: 1.75rem; line-height: 1.2; letter-spacing: -.01em; }
h2 { margin: 0 0 .35rem; font-size: 1.15rem; }
h3 { margin: 1.25rem 0 .35rem; font-size: 1rem; }
p { margin: 0 0 .75rem; }
a { color: var(--accent); }
code, input[type='password'], input[type='text'] { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .875em; }
:not(pre) > code { padding: .1em .35em; border-radius: .25rem; background: var(--raised); white-space: nowrap; }
header p { color: var(--soft); }
main { counter-reset: step; }
main > section { position: relative; margin-top: 2rem; padding: 1.5rem 0 0 2.75rem; border-top: 1px solid var(--line); }
main > section::before {
  counter-increment: step;
  content: counter(step);
  position: absolute;
  left: 0;
  top: 1.45rem;
  width: 1.75rem;
  height: 1.75rem;
  border-radius: 50%;
  background: var(--raised);
  color: var(--soft);
  font-weight: 600;
  font-size: .875rem;
  line-height: 1.75rem;
  text-align: center;
}
.box { margin: 0 0 .75rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--raised); }
.bar { display: flex; gap: .75rem; align-items: center; justify-content: space-between; min-height: 2.75rem; padding: .3rem .4rem .3rem 1rem; border-bottom: 1px solid var(--line); color: var(--soft); font-size: .9rem; }
pre { margin: 0; padding: .8rem 1rem; font-size: 1rem; line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; }
.note { color: var(--soft); font-size: .9rem; }
.field { display: flex; gap: .5rem; flex-wrap: wrap; align-items: center; margin: .25rem 0 .4rem; }
label.name { display: block; font-weight: 600; }
input[type='password'], input[type='text'] {
  flex: 1 1 18rem;
  min-width: 0;
  padding: .6rem .75rem;
  border: 1px solid var(--soft);
  border-radius: .4rem;
  background: var(--paper);
  color: var(--ink);
  line-height: 1.4;
}
input[aria-invalid='true'] { border-color: var(--bad); }
button {
  min-height: 2.4rem;
  padding: .4rem .9rem;
  border: 1px solid var(--line);
  border-radius: .4rem;
  background: var(--paper);
  color: var(--ink);
  font: inherit;
  font-size: .9rem;
  cursor: pointer;
}
button:hover { border-color: var(--accent); }
button.main { border-color: var(--accent); background: var(--accent); color: var(--on-accent); font-weight: 600; }
button:disabled { opacity: .6; cursor: progress; }
.copy { min-height: 2rem; padding: .2rem .7rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
fieldset { margin: 0 0 .75rem; padding: 0; border: 0; }
.choices { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: .25rem 1rem; }
.choices label { display: flex; gap: .6rem; align-items: baseline; padding: .35rem 0; cursor: pointer; }
.choices small { display: block; color: var(--soft); font-size: .85rem; line-height: 1.35; }
input[type='checkbox'] { flex: none; accent-color: var(--accent); margin: 0; }
[role='tablist'] { display: flex; flex-wrap: wrap; gap: .4rem; margin-bottom: .75rem; }
[role='tab'][aria-selected='true'] { border-color: var(--accent); color: var(--accent); font-weight: 600; }
.live [role='tabpanel'] h3 { display: none; }
summary { cursor: pointer; }
details { margin-bottom: .75rem; }
details .box { margin-top: .6rem; }
#result { margin-top: 1rem; padding: .9rem 1rem; border: 1px solid var(--line); border-left: 4px solid var(--soft); border-radius: .4rem; }
#result.good { border-left-color: var(--good); }
#result.bad { border-left-color: var(--bad); }
#result strong { display: block; }
#result.good strong { color: var(--good); }
#result.bad strong { color: var(--bad); }
#result p:last-child, #result details:last-child { margin-bottom: 0; }
#result ul { margin: .4rem 0 0; padding: 0; list-style: none; columns: 3 11rem; }
#result li { break-inside: avoid; padding: .1rem 0; font-size: .9rem; }
.warning { padding: .7rem 1rem; border: 1px solid var(--line); border-left: 4px solid var(--bad); border-radius: .4rem; }
footer { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .9rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }
@media (max-width: 32rem) {
  body { padding: 1.25rem 1rem 3rem; }
  main > section { padding-left: 0; padding-top: 1.25rem; }
  main > section::before { top: 1.2rem; }
  main > section > h2 { padding-left: 2.4rem; min-height: 1.75rem; }
  :not(pre) > code { white-space: normal; }
  .choices label, [role='tab'] { min-height: 2.75rem; }
}
`;
