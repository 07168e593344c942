import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { afterAll, describe, expect, it } from 'vitest';
import { compositionRoots } from '../../src/cli/roots.ts';
import { runCli } from '../support/cli.ts';
import { parseArchive, unpackArchive } from '../support/txtar.ts';

/** `input` is a folder with findings of every sort; `expected` has what each format makes of them. */
const folder = join(import.meta.dirname, 'validate');
const cwd = join(folder, 'input');
/** A fleet with findings across its files. */
const fleet = join(folder, 'fleet');

async function output(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await runCli(['validate', ...args], { cwd, roots: compositionRoots });
  expect([code, err]).toEqual([1, '']);
  return out;
}

/** The output on a terminal of 80 columns. */
async function onTerminal(colour: boolean): Promise<string> {
  let text = '';
  const stdout = {
    write: (more: string) => {
      text += more;
    },
    isTerminal: true,
    colour,
    columns: 80,
  };
  await runCli(['validate', '--summary'], { cwd, roots: compositionRoots, stdout });
  return text;
}

describe('golden files of validate: each format of the findings in one folder', () => {
  it.each([
    ['text', 'text.txt'],
    ['json', 'findings.json'],
    ['yaml', 'findings.yaml'],
    ['junit', 'junit.xml'],
    ['tap', 'findings.tap'],
    ['sarif', 'findings.sarif'],
    ['github', 'github.txt'],
    ['gitlab', 'gitlab.json'],
  ])('%s', async (format, file) => {
    await expect(await output('-o', format)).toMatchFileSnapshot(join(folder, 'expected', file));
  });

  it.each([
    ['without colours', 'terminal.txt', false],
    ['with colours', 'terminal-colours.txt', true],
  ])('text on a terminal %s', async (_, file, colour) => {
    await expect(await onTerminal(colour)).toMatchFileSnapshot(join(folder, 'expected', file));
  });
});

describe('golden file of the rules across files', () => {
  it('has a finding of each sort', async () => {
    const { code, out, err } = await runCli(['validate', '--summary'], { cwd: fleet, roots: compositionRoots });
    expect([code, err]).toEqual([1, '']);
    await expect(out).toMatchFileSnapshot(join(folder, 'expected', 'fleet.txt'));
  });
});

describe('what other programs read', () => {
  it('docs/reference/validate.md describes every member of the JSON', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/reference/validate.md'), 'utf8');
    const { summary, findings, ...rest } = JSON.parse(await output('-o', 'json'));
    const members = [
      ...Object.keys(summary).map((name) => `summary.${name}`),
      ...new Set((findings as readonly object[]).flatMap(Object.keys)),
      ...Object.keys(rest),
    ];
    expect(members.length).toBeGreaterThan(12);
    for (const name of members) expect(page, name).toMatch(new RegExp(`\`(findings\\[\\])?\\.?${name}(\\[\\])?\``));
  });

  it('sarif is valid by its schema', async () => {
    const schema = JSON.parse(readFileSync(join(folder, 'sarif-2.1.0.schema.json'), 'utf8'));
    const validate = new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false }).compile(schema);
    const log = JSON.parse(await output('-o', 'sarif'));
    validate(log);
    expect(validate.errors).toBeNull();
    log.runs[0].results[0].locations[0].physicalLocation.region.startLine = 0;
    expect(validate(log)).toBe(false);
  });

  it('sarif locates every finding below the root, and every rule has a page', async () => {
    const [run] = JSON.parse(await output('-o', 'sarif')).runs;
    for (const result of run.results) {
      const { uri, uriBaseId } = result.locations[0].physicalLocation.artifactLocation;
      expect(uriBaseId).toBe('%SRCROOT%');
      expect(decodeURIComponent(uri)).not.toMatch(/^[/.]/);
      expect(run.tool.driver.rules[result.ruleIndex].id).toBe(result.ruleId);
    }
    expect(run.results.length).toBeGreaterThan(5);
    for (const { id, helpUri } of run.tool.driver.rules)
      expect(helpUri).toMatch(new RegExp(`^https://.*/${id}\\.html$`));
  });

  it('junit is XML, and its counts fit its cases', async () => {
    const xml = await output('-o', 'junit');
    expect(XMLValidator.validate(xml)).toBe(true);
    const parser = new XMLParser({ ignoreAttributes: false, isArray: (name) => /^test(suite|case)$/.test(name) });
    const { testsuites } = parser.parse(xml);
    for (const suite of testsuites.testsuite) {
      expect(suite['@_tests']).toBe(String(suite.testcase.length));
      const failures = suite.testcase.filter((each: object) => 'failure' in each);
      expect(suite['@_failures']).toBe(String(failures.length));
    }
  });

  it('gitlab gets a fingerprint for each finding, which a new line above does not change', async () => {
    const issues = JSON.parse(await output('-o', 'gitlab'));
    const prints = issues.map(({ fingerprint }: { readonly fingerprint: string }) => fingerprint);
    expect(new Set(prints).size).toBe(prints.length);
  });
});

describe('golden file of the rights of a source', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'fleetrelay-rights-'));
  const archive = readFileSync(join(import.meta.dirname, 'render', 'sources-rights.txtar'), 'utf8');
  unpackArchive(parseArchive(archive), cwd);
  afterAll(() => rmSync(cwd, { recursive: true }));
  const run = (...args: readonly string[]) => runCli(['validate', 'repo', ...args], { cwd, roots: compositionRoots });

  it('has each document that the RelayConfig does not allow, at its line', async () => {
    const { code, out, err } = await run('--config', 'relay.yaml', '--source', 'team');
    expect([code, err]).toEqual([1, '']);
    await expect(out).toMatchFileSnapshot(join(folder, 'expected', 'sources-rights.txt'));
  });

  it('has none of them for a source that may have them, and without a RelayConfig', async () => {
    for (const args of [[], ['--config', 'relay.yaml', '--source', 'platform']]) {
      expect((await run(...args)).out).not.toContain('FR3012');
    }
  });

  it('counts the folder by the limits of the RelayConfig', async () => {
    const at = mkdtempSync(join(tmpdir(), 'fleetrelay-limits-'));
    const relay = join(at, 'relay.yaml');
    const of = (files: number) =>
      `${readFileSync(join(cwd, 'relay.yaml'), 'utf8')}limits: {revision: {files: ${files}}}\n`;
    writeFileSync(relay, of(5));
    expect((await run('--config', relay, '--source', 'platform')).out).toMatch(/FR1027.* at most 5 are read/);
    writeFileSync(relay, of(6));
    expect((await run('--config', relay, '--source', 'platform')).out).not.toContain('FR1027');
    rmSync(at, { recursive: true });
  });

  it.each([
    [['--source', 'team'], /--source needs --config/],
    [['--config', 'relay.yaml'], /relay\.yaml has several sources: .*: platform, team/],
    [['--config', 'relay.yaml', '--source', 'other'], /has no source other; it has platform, team/],
    [['--config', 'missing.yaml'], /missing\.yaml cannot be read: there is no such file/],
  ])('is refused with the wrong flags: %j', async (args, problem) => {
    const { code, err } = await run(...args);
    expect([code, err]).toEqual([2, expect.stringMatching(problem)]);
  });
});
