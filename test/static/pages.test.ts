import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import type { Command } from 'commander';
import { beforeAll, expect, test } from 'vitest';
import { allOptions, declaredCommands, wrongCommandLines } from './command-lines.ts';
import { type Page, readPage } from './markdown.ts';

/** The rules of the pages for people, each with a page that breaks it. */

const PROJECT = join(import.meta.dirname, '..', '..');
const FOLDERS = ['*.md', 'docs/**/*.md', 'deploy/**/*.md', 'examples/**/*.md', 'bench/*.md', 'src/**/ARCHITECTURE.md'];
const INDEX = 'docs/README.md';
const MAX_LINES = 250;
const MAX_LINES_OF_README = 150;
const MAX_WORDS = 90;

/** Options of other programs that the pages name alone. */
const OF_OTHER_PROGRAMS = new Set([
  // helm, kubectl, kube-apiserver.
  ...['--set', '--take-ownership', '--force-conflicts', '--from-literal', '--runtime-config'],
  // Node.js.
  ...['--min-semi-space-size', '--external-memory-accounted-in-global-limit'],
]);

const pages: ReadonlyMap<string, Page> = new Map(
  globSync([...FOLDERS], { cwd: PROJECT, exclude: (path) => path === 'node_modules' })
    .sort()
    .map((path) => [path, readPage(readFileSync(join(PROJECT, path), 'utf8'))]),
);
const docs = [...pages].filter(([path]) => path.startsWith('docs/') || path === 'README.md');

let commands: readonly Command[] = [];
beforeAll(async () => {
  commands = await declaredCommands();
});

test('there are pages', () => expect(docs.length).toBeGreaterThan(50));

test('no link is dead, and no anchor', () => {
  expect([...pages].flatMap(([path, page]) => deadLinks(path, page))).toEqual([]);
});

test.each(['[x](docs/nothing.md)', '[x](docs/README.md#nothing)', '[x](#nothing)'])('%s is dead', (text) => {
  expect(deadLinks('README.md', readPage(`# A\n\n${text}\n`))).toHaveLength(1);
});

test('an index names every page', () => {
  expect(unnamed(pages)).toEqual([]);
});

test('a page that no index names is found', () => {
  expect(unnamed(new Map([...pages, ['docs/start/lost.md', readPage('# Lost\n')]]))).toEqual(['docs/start/lost.md']);
});

test('pages are short, and so are their paragraphs', () => {
  expect(docs.flatMap(([path, page]) => tooLong(path, page))).toEqual([]);
});

test('so are the paragraphs of all other pages', () => {
  const others = [...pages].filter(([path]) => !docs.some(([name]) => name === path));
  expect(others.map(([path]) => path)).toContain('src/relay/ARCHITECTURE.md');
  expect(others.flatMap(([path, page]) => longParagraphs(path, page))).toEqual([]);
});

test.each([
  ['README.md', 'x\n'.repeat(MAX_LINES_OF_README + 1)],
  ['docs/x.md', '| x |\n'.repeat(MAX_LINES + 1)],
  ['docs/x.md', `${'word '.repeat(MAX_WORDS / 2)}\n${'word '.repeat(MAX_WORDS / 2 + 1)}\n`],
  ['docs/x.md', `- ${'word '.repeat(MAX_WORDS + 1)}\n`],
])('%s can be too long', (path, text) => {
  expect(tooLong(path, readPage(text)).length).toBeGreaterThan(0);
});

test('commands and options that pages name exist', () => {
  expect([...pages].flatMap(([path, page]) => wrongCode(path, page))).toEqual([]);
});

test.each([
  '    $ fleetrelay stauts\n',
  '```sh\nfleetrelay cluster tokne east\n```\n',
  '    fleetrelay get outputs --nosuch x\n',
  'Call `fleetrelay plan --bsae main`.\n',
  'Call `cluster token NAME --rewen`.\n',
  'Give `--nosuch-option`.\n',
  'Call `npm run nothing`.\n',
])('%j is wrong', (text) => {
  expect(wrongCode('README.md', readPage(text))).toHaveLength(1);
});

test('what commands print is no command', () => {
  const printed = '    $ fleetrelay status\n    fleetrelay nothing at all --nosuch\n';
  expect(readPage(printed).code).toHaveLength(2);
  expect(wrongCode('README.md', readPage('    release: `fleetrelay` is up --nosuch\n'))).toEqual([]);
});

function deadLinks(path: string, page: Page): readonly string[] {
  return page.links.flatMap(({ number, text }) => {
    if (/^(https?|mailto):/.test(text)) return [];
    const [target = '', anchor] = text.split('#');
    const file = target === '' ? path : normalize(join(dirname(path), decodeURI(target)));
    if (!existsSync(join(PROJECT, file))) return [`${path}:${number}: ${text}: there is no ${file}`];
    if (anchor === undefined || !file.endsWith('.md')) return [];
    const anchors = file === path ? page.anchors : pages.get(file)?.anchors;
    return anchors?.has(anchor) === false ? [`${path}:${number}: ${text}: ${file} has no such title`] : [];
  });
}

/** Pages below docs that neither the index of all pages nor the index of their own folder names. */
function unnamed(all: ReadonlyMap<string, Page>): readonly string[] {
  const namedBy = (index: string): readonly string[] =>
    (all.get(index)?.links ?? []).map(({ text }) => normalize(join(dirname(index), text.replace(/#.*/, ''))));
  const paths = [...all.keys()].filter((path) => path.startsWith('docs/') && path !== INDEX);
  return paths.filter((path) => ![INDEX, join(dirname(path), 'README.md')].some((by) => namedBy(by).includes(path)));
}

function tooLong(path: string, page: Page): readonly string[] {
  const limit = path === 'README.md' ? MAX_LINES_OF_README : MAX_LINES;
  return [
    ...(page.lines > limit ? [`${path} has ${page.lines} lines, more than ${limit}`] : []),
    // The description of a command is one paragraph, as `--help` prints it.
    ...(path.startsWith('docs/reference/cli/') ? [] : longParagraphs(path, page)),
  ];
}

function longParagraphs(path: string, { paragraphs }: Page): readonly string[] {
  return paragraphs
    .filter(({ words }) => words > MAX_WORDS)
    .map(({ line, words }) => `${path}:${line}: a paragraph of ${words} words, more than ${MAX_WORDS}`);
}

function wrongCode(path: string, page: Page): readonly string[] {
  const options = allOptions(commands);
  return page.code.flatMap((code) => {
    const wrong = [...wrongCommandLines(code, commands), ...wrongScripts(code.text)];
    const [, option] = code.isBlock ? [] : (/^(--[a-z][a-z-]+)(?:$|[ =])/.exec(code.text) ?? []);
    if (option !== undefined && !options.has(option) && !OF_OTHER_PROGRAMS.has(option) && !isOptionOfScript(option))
      wrong.push(`no command has the option ${option}`);
    return wrong.map((problem) => `${path}:${code.number}: ${problem}`);
  });
}

const { scripts } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

function wrongScripts(text: string): readonly string[] {
  const named = [...text.matchAll(/\bnpm run (?:--silent )?([a-z][\w:-]*)/g)].map(([, name = '']) => name);
  return named.filter((name) => !(name in scripts)).map((name) => `package.json has no script ${name}`);
}

let ofScripts: string | undefined;

/** Whether a script of the checkout, such as the demo or the simulation, takes the option. */
function isOptionOfScript(option: string): boolean {
  ofScripts ??= execFileSync(
    'git',
    ['grep', '-h', '--', '--[a-z]', 'scripts/*.ts', 'test/sim/*.ts', 'test/fuzz/*.ts', 'bench/*.ts'],
    {
      ...{ cwd: PROJECT, encoding: 'utf8', maxBuffer: 1 << 24 },
    },
  );
  return new RegExp(`${option}\\b`).test(ofScripts);
}

/** Reasons in the first column, or the column `reason`, of the tables of a page. */
function reasonsOf(text: string): readonly string[] {
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) =>
    [
      ...row
        .split(' | ', 2)
        .join(' ')
        .matchAll(/`([A-Z][A-Za-z]+)`/g),
    ].map(([, name = '']) => name),
  );
}

test('every reason that the page on troubleshooting explains is a word of the program', () => {
  const reasons = reasonsOf(readFileSync(join(PROJECT, 'docs/operate/troubleshooting.md'), 'utf8'));
  expect(reasons.length).toBeGreaterThan(50);
  expect(reasons.filter((reason) => !isReason(reason))).toEqual([]);
  expect(isReason('NoSuchReason')).toBe(false);
});

let sources: string | undefined;

function isReason(word: string): boolean {
  sources ??= globSync('src/**/*.ts', { cwd: PROJECT })
    .map((path) => readFileSync(join(PROJECT, path), 'utf8'))
    .join('\n');
  return sources.includes(`'${word}'`) || new RegExp(`^  ${word}: `, 'm').test(sources);
}
