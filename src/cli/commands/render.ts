import { InvalidArgumentError, Option } from 'commander';
import type { RenderFinding, Rendering } from '../../compose/render/render.ts';
import { domains } from '../../domains/domains.ts';
import { printYaml } from '../../manifest/print-yaml.ts';
import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import type { JsonObject, JsonValue } from '../../model/text/json.ts';
import { parseRfc3339 } from '../../model/text/time.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
import { EXIT, refuseUsage } from '../exit-codes.ts';
import { type TextOutput, writeDiagnostics } from '../output.ts';

interface Flags {
  readonly clusters?: string;
  readonly at?: number;
  readonly status?: string;
  readonly config?: string;
  readonly source?: string;
  readonly output?: 'json' | 'yaml';
  readonly outputDir?: string;
}

/** The options that name a file of a domain. */
const FILES = domains.flatMap(({ name, render }) =>
  render?.file === undefined ? [] : [{ ...render.file, domain: name }],
);

/** `fleetrelay render [PATH]`: what the engine makes of a folder, once. Exit code 1 if a file is invalid. */
export function renderCommand(context: CliContext): CliCommand {
  const command = newCommand('render', context)
    .summary('what clusters should hold and what status would say, from a folder, without a server')
    .description(
      'Evaluates a repository folder once, as a server would. Prints the objects of each cluster, the status documents and all diagnostics. Findings go to stderr as well; the exit code is 1 if a file is invalid.',
    )
    .argument('[path]', 'folder of the repository', '.')
    .option('--clusters <dir>', 'live state: a directory cluster in each folder DIR/NAME');
  for (const { option, what } of FILES) command.option(`--${option} <file>`, what);
  return command
    .option('--at <time>', 'the time, RFC 3339 (default: now)', time)
    .option('--status <dir>', 'a checkout of the status branch: the status that was written last')
    .option(
      '--config <file>',
      'RelayConfig of the server: what it allows the source, and its limits, count (default: all rights, default limits)',
    )
    .option('--source <name>', 'the source in it that the folder is a checkout of (default: the only one)')
    .addOption(new Option('-o, --output <format>', 'how to print it (default: "json")').choices(['json', 'yaml']))
    .option('--output-dir <dir>', 'write the objects into a folder for each cluster; print only with -o')
    .examples([
      ['fleetrelay render', 'the result for the repository in this folder, as JSON'],
      [
        'fleetrelay render fleet --clusters recorded -o yaml',
        'with the live state in recorded/east, recorded/west, ...',
      ],
      ['fleetrelay render --output-dir new && diff -r old new', 'what a change does to the objects of each cluster'],
      [
        'fleetrelay render --config relay.yaml --source team',
        'with the rights that a server gives to one of its sources',
      ],
      ['fleetrelay render --status ../status --at 2026-01-31T10:42:07Z', 'the status documents as of a moment'],
    ])
    .action(async (folder: string, { output, ...flags }: Flags) => {
      refuseUsage([[flags.source !== undefined && flags.config === undefined, '--source needs --config']]);
      const { cwd, version } = context;
      const rendering = await context.roots.render({ folder, cwd, version, files: filesOf(command.opts()), ...flags });
      const shown = rendering.findings.map((finding) => asWritten(finding, folder, flags.clusters));
      writeDiagnostics(context.stderr, shown);
      if (output !== undefined || flags.outputDir === undefined) {
        writeRendering(context.stdout, output ?? 'json', rendering);
      }
      context.exit(rendering.isInvalid ? EXIT.notWell : EXIT.ok);
    });
}

/** The files that options name, by the domain that reads them. */
function filesOf(flags: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    FILES.flatMap(({ domain, option }) => {
      const file = flags[new Option(`--${option}`).attributeName()];
      return typeof file === 'string' ? [[domain, file]] : [];
    }),
  );
}

function time(text: string): number {
  const milliseconds = parseRfc3339(text);
  if (milliseconds === undefined) throw new InvalidArgumentError('It must be RFC 3339, as 2026-01-31T10:42:07Z.');
  return milliseconds;
}

/** The diagnostic with its path below the folder as the command line names it. */
function asWritten({ folder, diagnostic }: RenderFinding, repository: string, clusters = ''): Diagnostic {
  const { at } = diagnostic;
  if (folder === 'given') return diagnostic;
  const below = (folder === 'repository' ? repository : clusters).replace(/\/+$/, '');
  return at === undefined || below === '.' ? diagnostic : { ...diagnostic, at: { ...at, path: `${below}/${at.path}` } };
}

/**
 * Writes `{"outputs": {CLUSTER: [object, ...]}, "statuses": {PATH: document}, "diagnostics": [...]}` and the views beside
 * these. Writes cluster by cluster: the text of a large fleet is never in memory at once.
 */
export function writeRendering(out: TextOutput, format: 'json' | 'yaml', rendering: Rendering): void {
  const { clusters, objectsOf, statuses, findings, views } = rendering;
  const diagnostics = findings.map(({ diagnostic }) => diagnostic as unknown as JsonObject);
  const others: JsonObject = { statuses, diagnostics, ...views };
  const valuesOf = (cluster: string): readonly JsonObject[] => objectsOf(cluster).map(({ value }) => value);
  if (format === 'json') writeJson(out, clusters, valuesOf, others);
  else writeYaml(out, clusters, valuesOf, others);
}

type ValuesOf = (cluster: string) => readonly JsonObject[];

/** Writes the bytes of `JSON.stringify` with an indentation of two. */
function writeJson(out: TextOutput, clusters: readonly string[], valuesOf: ValuesOf, others: JsonObject): void {
  // Clusters share most of their objects.
  const texts = new Map<JsonObject, string>();
  const textOf = (value: JsonObject): string => {
    const text = texts.get(value) ?? jsonAt(3, value);
    texts.set(value, text);
    return text;
  };
  out.write(clusters.length === 0 ? '{\n  "outputs": {}' : '{\n  "outputs": {\n');
  for (const [index, cluster] of clusters.entries()) {
    const objects = valuesOf(cluster).map(textOf);
    const list = objects.length === 0 ? '[]' : `[\n      ${objects.join(',\n      ')}\n    ]`;
    out.write(`    ${JSON.stringify(cluster)}: ${list}${index < clusters.length - 1 ? ',\n' : '\n  }'}`);
  }
  for (const [name, value] of Object.entries(others)) out.write(`,\n  ${JSON.stringify(name)}: ${jsonAt(1, value)}`);
  out.write('\n}\n');
}

/** JSON of a value that lies this deep in another one. */
function jsonAt(depth: number, value: JsonValue | undefined): string {
  return JSON.stringify(value, undefined, 2).replaceAll('\n', `\n${'  '.repeat(depth)}`);
}

function writeYaml(out: TextOutput, clusters: readonly string[], valuesOf: ValuesOf, others: JsonObject): void {
  out.write(clusters.length === 0 ? 'outputs: {}\n' : 'outputs:\n');
  for (const cluster of clusters) out.write(printYaml({ [cluster]: valuesOf(cluster) }).replaceAll(/^(?=.)/gm, '  '));
  out.write(printYaml(others));
}
