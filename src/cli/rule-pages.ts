import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findings } from '../model/fleet/findings.ts';
import { suggestion } from '../model/text/messages.ts';
import { CliError, EXIT } from './exit-codes.ts';
import { type CommandAnswer, styled, type TextOutput } from './output.ts';

/**
 * Returns the page of a finding by its code, the number of the code or its reason, in any case: `FR2003`, `2003`,
 * `UnknownField`. Undefined: the text is none of them. Rejects with a {@link CliError} if no finding has the code.
 */
export async function ruleAnswer(text: string): Promise<CommandAnswer | undefined> {
  const word = text.toLowerCase();
  const isCode = /^(?:fr)?\d+$/.test(word);
  const code = `FR${word.replace('fr', '')}`;
  const [reason, row] =
    Object.entries(findings).find(([name, found]) => (isCode ? found.code === code : name.toLowerCase() === word)) ??
    [];
  if (row === undefined && !isCode) return undefined;
  if (row === undefined) {
    const meant = suggestion(
      code,
      Object.values(findings).map((found) => found.code),
    );
    const hint = meant === undefined ? undefined : `did you mean ${meant}?`;
    throw new CliError(EXIT.notFound, `no finding has the code ${code}`, hint);
  }
  const page = await pageOf(row.code);
  return { value: { code: row.code, reason, meaning: row.meaning, page }, table: (out) => writePage(out, page) };
}

/** Reads a page. Pages lie in docs/reference/rules of the package, above the sources as well as above the bundle. */
async function pageOf(code: string): Promise<string> {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const page = await readFile(join(folder, 'docs/reference/rules', `${code}.md`), 'utf8').catch(() => undefined);
    if (page !== undefined) return page;
  }
  throw new Error(`the page of ${code} is missing in this installation`);
}

/** Writes a page as text: headings are set off, code is indented below the name of its file, comments and links are left out. */
function writePage(out: TextOutput, page: string): void {
  const lines = page.replaceAll(/<!--[\s\S]*?-->\n+| \[All codes\]\(README\.md\)/g, '').split('\n');
  let isCode = false;
  for (const line of lines) {
    const [, file] = /^```\w+ (\S+)$/.exec(line) ?? [];
    if (file !== undefined) out.write(`${styled(out, 'faint', `${file}:`)}\n`);
    if (line.startsWith('```')) isCode = !isCode;
    else if (isCode) out.write(line === '' ? '\n' : `    ${line}\n`);
    else out.write(`${line.startsWith('#') ? styled(out, 'strong', line.replace(/^#+ /, '')) : line}\n`);
  }
}
