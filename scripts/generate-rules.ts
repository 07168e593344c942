/** The generated parts of docs/reference/rules: title, meaning, severity and suppression of each page, and the list of all pages. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findings } from '../src/model/fleet/findings.ts';
import { canSuppress } from '../src/validation/suppressions.ts';

const FOLDER = fileURLToPath(new URL('../docs/reference/rules', import.meta.url));
const TITLE = part('title');
const SUPPRESSION = part('suppression');

const GROUPS: readonly (readonly [prefix: string, title: string])[] = [
  ['FR1', 'Files and YAML'],
  ['FR2', 'Fields and schemas'],
  ['FR3', 'Rules across files'],
  ['FR4', 'Live objects of a cluster'],
];

interface RuleRow {
  readonly reason: string;
  readonly code: string;
  readonly meaning: string;
  readonly severity?: 'warning';
}

const rows: readonly RuleRow[] = Object.entries(findings)
  .map(([reason, row]) => ({ reason, ...row }))
  .sort((a, b) => (a.code < b.code ? -1 : 1));

/** The comments around a generated part of a page. */
function part(name: string): { readonly begin: string; readonly end: string } {
  return { begin: `<!-- ${name}: generated, "npm run generate" -->`, end: `<!-- end of ${name} -->` };
}

function pageOf({ reason, code, meaning, severity }: RuleRow, written: string): string {
  return [
    TITLE.begin,
    '',
    `# ${code}: ${reason}`,
    '',
    meaning,
    '',
    `Severity: ${severity ?? 'error'}. [All codes](README.md)`,
    '',
    TITLE.end,
    '',
    written,
    '',
    SUPPRESSION.begin,
    '',
    '## How to suppress it',
    '',
    ...suppressionOf(code),
    '',
    SUPPRESSION.end,
    '',
  ].join('\n');
}

function suppressionOf(code: string): readonly string[] {
  if (code.startsWith('FR4')) return ['It cannot be suppressed: it is about a live object, not about a manifest.'];
  if (!canSuppress(code)) {
    return ['It cannot be suppressed. If the file is no manifest, list it in `.fleetrelayignore`.'];
  }
  return [
    'Write the code and a reason in a comment at the end of the line, on the line above, or above the first line of the',
    'document for all of its lines:',
    '',
    `    # fleetrelay-ignore: ${code} REASON`,
  ];
}

/** The part of a page that people write. */
function writtenIn(page: string): string {
  const begin = page.indexOf(TITLE.end);
  const end = page.indexOf(SUPPRESSION.begin);
  return begin < 0 || end < 0 ? '' : page.slice(begin + TITLE.end.length, end).trim();
}

function listOfPages(): string {
  const lines = GROUPS.flatMap(([prefix, title]) => [
    `## ${title}`,
    '',
    '| code | reason | severity | meaning |',
    '|---|---|---|---|',
    ...rows
      .filter(({ code }) => code.startsWith(prefix))
      .map(
        ({ code, reason, meaning, severity }) =>
          `| [${code}](${code}.md) | \`${reason}\` | ${severity ?? 'error'} | ${meaning} |`,
      ),
    '',
  ]);
  return [
    '# Findings',
    '',
    'Every finding of `fleetrelay validate` and `fleetrelay get diagnostics` has a code that never changes.',
    '`fleetrelay explain CODE` shows its page. This list is generated: `npm run generate`.',
    '',
    ...lines,
  ].join('\n');
}

/** Writes the pages; with `check` it only names those that differ. */
async function generate(check: boolean): Promise<readonly string[]> {
  await mkdir(FOLDER, { recursive: true });
  const drifted: string[] = [];
  const update = async (name: string, textOf: (before: string) => string): Promise<void> => {
    const before = await readFile(join(FOLDER, name), 'utf8').catch(() => '');
    const text = textOf(before);
    if (text === before) return;
    drifted.push(`docs/reference/rules/${name}`);
    if (!check) await writeFile(join(FOLDER, name), text);
  };
  for (const row of rows) {
    await update(`${row.code}.md`, (before) => {
      // Suppressions and reports of other programs name codes: a code never gets another meaning.
      const title = /^# (FR\d+: \w+)$/m.exec(before)?.[1];
      if (title !== undefined && title !== `${row.code}: ${row.reason}`) {
        throw new Error(`${row.code} was "${title}", and a code keeps its reason: give ${row.reason} a new code`);
      }
      return pageOf(row, writtenIn(before));
    });
  }
  await update('README.md', listOfPages);
  const names = new Set(['README.md', ...rows.map(({ code }) => `${code}.md`)]);
  for (const name of await readdir(FOLDER))
    if (!names.has(name)) drifted.push(`docs/reference/rules/${name} (no such code)`);
  return drifted;
}

const isCheck = process.argv.includes('--check');
const drifted = await generate(isCheck);
for (const name of drifted) console.log(`${name}: ${isCheck ? 'is not up to date: npm run generate' : 'written'}`);
if (isCheck && drifted.length > 0) process.exitCode = 1;
