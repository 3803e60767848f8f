// A Chromium that follows commands: a line of JSON on stdin each, a line of JSON on stdout in answer.
//
//     node driver.mjs CHROMIUM NODE_MODULES DEADLINE_MS
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [executablePath, packages, deadline] = process.argv.slice(2);
const require = createRequire(join(packages, 'x.js'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const browser = await chromium.launch({
  executablePath,
  // Else Chromium looks for its maker's hosts at every start. A sandbox needs rights that CI lacks.
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-dev-shm-usage',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
const pages = new Map();

async function openPage({ page: name, beside, scheme, width = 1280, height = 800 }) {
  const context =
    pages.get(beside)?.context ??
    (await browser.newContext({
      colorScheme: scheme,
      viewport: { width, height },
      permissions: ['clipboard-read', 'clipboard-write'],
    }));
  const page = await context.newPage();
  page.setDefaultTimeout(Number(deadline));
  const problems = [];
  const requests = [];
  let isOffline = false;
  page.on('console', (message) => {
    if (message.type() === 'error' && !isOffline) problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`error: ${error.stack}`));
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => requests.push(request.url()));
  await page.addInitScript(() => {
    globalThis.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => {
      globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  pages.set(name, { page, context, problems, requests, setOffline: (value) => (isOffline = value) });
}

const commands = {
  open: openPage,
  close: async ({ page }) => {
    const { page: tab, context } = pages.get(page);
    pages.delete(page);
    await tab.close();
    if (context.pages().length === 0) await context.close();
  },
  goto: ({ page, url }) => pages.get(page).page.goto(url),
  waitForText: ({ page, text, within = 'body' }) =>
    pages.get(page).page.locator(within).filter({ hasText: text, visible: true }).first().waitFor(),
  // Not waitForFunction: it takes a string that is a function for true, and the page's policy forbids it to evaluate one.
  waitForCode: async ({ page, code, argument }) => {
    const { page: tab } = pages.get(page);
    const end = Date.now() + Number(deadline);
    while (!(await tab.evaluate(`(${code})(${JSON.stringify(argument ?? null)})`))) {
      if (Date.now() > end) throw new Error(`never true: ${code}`);
      await tab.evaluate('new Promise(requestAnimationFrame)');
    }
  },
  text: ({ page, selector }) => pages.get(page).page.locator(selector).first().innerText(),
  texts: ({ page, selector }) => pages.get(page).page.locator(selector).allInnerTexts(),
  click: ({ page, selector }) => pages.get(page).page.locator(selector).first().click(),
  fill: ({ page, selector, text }) => pages.get(page).page.locator(selector).first().fill(text),
  press: ({ page, key }) => pages.get(page).page.keyboard.press(key),
  evaluate: ({ page, code, argument }) => pages.get(page).page.evaluate(`(${code})(${JSON.stringify(argument)})`),
  save: async ({ page, selector }) => {
    const [download] = await Promise.all([
      pages.get(page).page.waitForEvent('download'),
      pages.get(page).page.locator(selector).first().click(),
    ]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
  },
  setOffline: ({ page, value }) => pages.get(page).setOffline(value),
  setScheme: ({ page, scheme }) => pages.get(page).page.emulateMedia({ colorScheme: scheme }),
  requests: ({ page }) => pages.get(page).requests,
  problems: async ({ page }) => {
    const { page: tab, problems } = pages.get(page);
    const violations = await tab.evaluate('globalThis.violations');
    return [...problems, ...violations.map((violation) => `CSP: ${violation}`)];
  },
  axe: async ({ page }) => {
    const { page: tab } = pages.get(page);
    await tab.evaluate(axe); // By the debugger's protocol, which the page's policy does not bind.
    const { violations } = await tab.evaluate('axe.run()');
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
  },
  screenshot: ({ page, path }) =>
    pages
      .get(page)
      .page.screenshot({ path })
      .then(() => null),
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let answer;
  try {
    answer = { result: (await commands[command.command](command)) ?? null };
  } catch (error) {
    answer = { error: String(error.stack ?? error) };
  }
  if (command.command === 'goto' && answer.result) answer = { result: null };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
