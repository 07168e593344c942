import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { ruleAnswer } from '../../src/cli/rule-pages.ts';
import { validatePaths } from '../../src/compose/validate/validate.ts';
import type { Diagnostic } from '../../src/model/fleet/diagnostic.ts';
import { findings } from '../../src/model/fleet/findings.ts';

/** The pages of docs/reference/rules: each example gives the finding that it explains, and its correction does not. */

const PAGES = join(import.meta.dirname, '../../docs/reference/rules');
const rows = Object.entries(findings).map(([reason, row]) => ({ reason, ...row }));
const pages = new Map(rows.map(({ code }) => [code as string, readFileSync(join(PAGES, `${code}.md`), 'utf8')]));

/** Findings that no manifest of an example can give: what is needed instead. */
const WITHOUT_EXAMPLE: Readonly<Record<string, string>> = {
  FR1001: 'a missing file',
  FR1002: 'a file of 16 MiB',
  FR1003: 'bytes that are no text',
  FR1004: 'control characters',
  FR1005: 'a link',
  FR1006: 'a link',
  FR1007: 'a submodule',
  FR1009: 'a defect',
  FR1022: 'nesting beyond the limit',
  FR1023: 'aliases beyond the limit',
  FR1024: 'values beyond the limit',
  FR1025: 'documents beyond the limit',
  FR1026: 'a path beyond the limit',
  FR1027: 'a folder beyond a limit',
  FR1028: 'an object beyond the limit',
  FR2022: 'settings that a schema accepts and an agent refuses',
  FR2023: 'settings beyond the limit',
  FR2026: 'reported by serve',
  FR2027: 'reported by serve',
  FR2040: 'an object of 3 MiB',
  FR2052: 'a schema that cannot be read',
  FR2053: 'a schema at an address',
  FR3002: 'live Services of clusters',
  FR3005: 'an earlier revision',
  FR3006: 'the RelayConfig of a server',
  FR3012: 'the RelayConfig of a server',
  FR3013: 'the RelayConfig of a server',
  FR3014: 'the RelayConfig of a server',
  FR3015: 'several sources',
  FR3016: 'a lost record of the store',
  FR3007: 'held removals',
  FR3008: 'held removals',
  FR3009: 'held removals',
  FR3010: 'a defect',
  FR3011: 'the agent of a Shoot',
  FR4001: 'a directory cluster',
  FR4002: 'a directory cluster',
  FR4003: 'a directory cluster',
  FR4004: 'a cluster',
  FR4005: 'a live Dataplane',
  FR4006: 'a live Pod',
};

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
});

/** The text below a heading, up to the next one. */
function sectionOf(page: string, heading: string): string | undefined {
  const [, text] = new RegExp(`^## ${heading}\\n([\\s\\S]*?)(?=^## |^<!-- )`, 'm').exec(page) ?? [];
  return text;
}

/** Writes the code blocks of a section to files and validates them: one file by its name, several as a folder. */
async function findingsOf(section: string): Promise<readonly Diagnostic[]> {
  const cwd = mkdtempSync(join(tmpdir(), 'fleetrelay-rule-'));
  made.push(cwd);
  const names: string[] = [];
  for (const [, name = 'example.yaml', text = ''] of section.matchAll(/^```\w+(?: (\S+))?\n([\s\S]*?)^```$/gm)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
    names.push(name);
  }
  expect(names.length).toBeGreaterThan(0);
  const paths = names.length === 1 ? names : ['.'];
  return (await validatePaths({ paths, cwd, readStdin: async () => new Uint8Array() })).diagnostics;
}

describe.each(rows.filter(({ code }) => WITHOUT_EXAMPLE[code] === undefined))('the page of $code $reason', (row) => {
  const { code } = row;
  const page = pages.get(code) ?? '';

  it('has an example that gives this finding and no other', async () => {
    const found = await findingsOf(sectionOf(page, 'Wrong') ?? '');
    expect(found.map((each) => `${each.code}: ${each.message}`)).not.toEqual([]);
    expect([...new Set(found.map((each) => each.code))], JSON.stringify(found, undefined, 1)).toEqual([code]);
    const severity = 'severity' in row ? row.severity : 'error';
    expect(found.map((each) => each.severity)).toContain(severity);
  });

  it('has a correction that gives no finding', async () => {
    expect(await findingsOf(sectionOf(page, 'Right') ?? '')).toEqual([]);
  });
});

describe('every page', () => {
  it('is text on a terminal: no comments, no marks of code blocks, and the names of files', async () => {
    const parts: string[] = [];
    const out = { write: (text: string) => void parts.push(text), isTerminal: true, colour: false, columns: 80 };
    (await ruleAnswer('FR3024'))?.table(out);
    const text = parts.join('');
    expect(text).toMatch(/^FR3024: UnknownService\n\n/);
    expect(text).toContain('\ningress.yaml:\n    apiVersion: networking.k8s.io/v1\n');
    expect(text).not.toMatch(/```|<!--|\]\(|^#/m);
  });

  it('has an example unless no manifest can give its finding', () => {
    const without = [...pages].filter(([, page]) => sectionOf(page, 'Wrong') === undefined).map(([code]) => code);
    expect(without.sort()).toEqual(Object.keys(WITHOUT_EXAMPLE).sort());
  });

  it.each(rows)('$code explains why it matters and what to do', async ({ code, reason, meaning }) => {
    const page = pages.get(code) ?? '';
    expect(page).toContain(`# ${code}: ${reason}\n\n${meaning}\n`);
    const sections = ['Why it matters', 'What to do', ...(code in WITHOUT_EXAMPLE ? ['How it arises'] : [])];
    for (const heading of sections) expect(sectionOf(page, heading)?.trim(), heading).toMatch(/\.$/);
    for (const text of [code, code.toLowerCase(), code.slice(2), reason, reason.toLowerCase()]) {
      expect((await ruleAnswer(text))?.value).toMatchObject({ code, reason, page });
    }
  });

  it('belongs to a code', () => {
    const names = readdirSync(PAGES).filter((name) => name !== 'README.md');
    expect(names.sort()).toEqual([...pages.keys()].sort().map((code) => `${code}.md`));
  });
});
