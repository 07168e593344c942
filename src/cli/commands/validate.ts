import { relative, resolve } from 'node:path';
import { Option } from 'commander';
import type { ValidationReport, ValidationRequest } from '../../compose/validate/report.ts';
import type { Diagnostic } from '../../model/fleet/diagnostic.ts';
import { printable } from '../../model/text/printable.ts';
import { given } from '../../model/values/given.ts';
import { type KubernetesVersion, kubernetesVersions } from '../../validation/kubernetes-schemas.ts';
import { connect } from '../api.ts';
import { type ApiOptions, withApiOptions } from '../api-options.ts';
import { repeated } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, kubeTarget, newCommand } from '../command.ts';
import { CliError, EXIT, refuseUsage } from '../exit-codes.ts';
import { type ShownFindings, severitiesOf } from '../findings/findings.ts';
import { FINDING_FORMATS } from '../findings/formats.ts';
import { fleetVersions, kubernetesVersionOption } from '../kubernetes-versions.ts';
import { isSkipForm, unknownSkips } from '../skipped-kinds.ts';

interface Flags extends ApiOptions {
  readonly output: string;
  readonly kubernetesVersion?: readonly KubernetesVersion[];
  readonly schemaLocation: readonly string[];
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly changedSince?: string;
  readonly repository?: string;
  readonly config?: string;
  readonly source?: string;
  readonly skip: readonly string[];
  readonly strict?: true;
  readonly strictKinds?: true;
  readonly ignoreMissingSchemas?: true;
  readonly summary?: true;
  readonly fix?: true;
}

/** `fleetrelay validate [PATH...]`: every error with its place, and exit code 1 if there is one. */
export function validateCommand(context: CliContext): CliCommand {
  const command = newCommand('validate', context)
    .summary('check manifests as an API server would, with file:line:column for every error')
    .description(
      'Reads manifests as the server would and checks each object as an API server does under --dry-run=server --validate=strict: fields, types, values, names. In folders it also checks what several files say together: references, objects that are declared twice, Placements that select nothing; name the root of the source for that. Files that are named one by one, and standard input, are checked alone. Needs neither a server nor a cluster. The exit code is 1 if there is an error.',
    )
    .argument('[path...]', 'files and folders; - is standard input', ['.'])
    .takesFileNames()
    .addOption(kubernetesVersionOption(`version that every object must suit, ${kubernetesVersions.join(', ')}`))
    .addOption(
      repeated(
        '--schema-location <template>',
        'where schemas of other kinds lie: a path or URL in the form of kubeconform, such as schemas/{{ .ResourceKind }}.json; may be repeated',
        'only the CustomResourceDefinitions under the paths',
      ),
    )
    .option('--kubeconfig <file>', 'kubeconfig of a cluster whose CustomResourceDefinitions are read as well')
    .option('--context <name>', 'context of that cluster')
    .option(
      '--changed-since <ref>',
      'check only what changed since a commit, and what depends on it; A..B: between two commits; needs the git program',
    )
    .option(
      '--repository <dir>',
      'the paths are a part of the repository in this folder: its .fleetrelayignore counts for them, and what they refer to is looked up in it',
    )
    .option(
      '--config <file>',
      'RelayConfig of the server: what it allows the source, and its limits, count (default: all rights, default limits)',
    )
    .option('--source <name>', 'the source in it that the paths are a checkout of (default: the only one)')
    .addOption(listOption('--skip <kind>', 'kinds that are not checked, such as Secret or apps/Deployment'))
    .option('--strict', 'warnings are errors, and so is a path without a manifest')
    .option('--strict-kinds', 'a kind without schema is an error')
    .option('--ignore-missing-schemas', 'a kind without schema is no finding')
    .option('--fix', 'change the files where a finding can be fixed safely')
    .option('--summary', 'end with the number of documents by outcome and of findings by code')
    .examples([
      ['fleetrelay validate', 'every manifest under the current folder, for the newest Kubernetes'],
      ['fleetrelay validate --strict clusters/ policy.yaml', 'some of them; warnings are errors'],
      ['git show HEAD:policy.yaml | fleetrelay validate -', 'standard input'],
      [
        'fleetrelay validate --kubernetes-version 1.33 --kubernetes-version 1.36',
        'for the oldest and the newest cluster',
      ],
      ['fleetrelay validate --api https://fleet.example.com', 'for the versions that the clusters of a fleet run'],
      [
        'fleetrelay validate --changed-since origin/main -o github',
        'what a pull request changes, as annotations of its lines',
      ],
      [
        'fleetrelay validate --config relay.yaml --source team',
        'as one of the sources of a server, within its rights and limits',
      ],
      ['fleetrelay validate --fix', 'fix what can be fixed safely, and report the rest'],
      ['fleetrelay explain FR2003', 'what a code means, with an example'],
    ]);
  return withApiOptions(command).answersIn(FINDING_FORMATS, (flags: Flags, paths: readonly string[]) =>
    validate(context, flags, paths),
  );
}

async function validate(context: CliContext, flags: Flags, paths: readonly string[]): Promise<ShownFindings> {
  const { cwd, env, stdout, stderr, version } = context;
  const isStdinFixed = flags.fix === true && paths.includes('-');
  refuseUsage([
    [
      flags.api !== undefined && flags.kubernetesVersion !== undefined,
      '--api and --kubernetes-version exclude each other',
    ],
    [!flags.skip.every(isSkipForm), '--skip takes Kind, group/Kind or apiVersion/Kind'],
    [
      isStdinFixed && (paths.length > 1 || flags.output !== 'text'),
      '--fix of - takes no other path and no other output',
    ],
    [
      flags.repository !== undefined && (flags.changedSince !== undefined || paths.includes('-')),
      '--repository takes neither --changed-since nor -: the paths are what is checked',
    ],
    [flags.source !== undefined && flags.config === undefined, '--source needs --config'],
    [
      flags.strictKinds === true && flags.ignoreMissingSchemas === true,
      '--strict-kinds and --ignore-missing-schemas exclude each other',
    ],
  ]);
  const isForPeople = stdout.isTerminal && flags.output === 'text';
  const progress = progressLine(context);
  const request: ValidationRequest = {
    paths,
    cwd,
    env,
    readStdin: context.readStdin,
    ...requestOf(flags),
    ...(flags.api === undefined ? {} : await versionsOfFleet(context, flags)),
    excerpts: isForPeople,
    findsFixes: flags.fix === true || isForPeople || ['json', 'yaml', 'sarif'].includes(flags.output),
    progress: progress.show,
  };
  const found = await context.roots.validate(request).catch(refused).finally(progress.clear);
  const report = flags.strict === true ? hardened(found) : found;
  const isEmpty = found.files === 0 && found.diagnostics.length === 0 && flags.changedSince === undefined;
  if (isEmpty) {
    stderr.write(
      `${flags.strict === true ? 'error' : 'warning'}: no manifest was found in ${printable(paths.join(', '))}\n`,
    );
  }
  if (flags.changedSince === undefined && flags.repository === undefined) {
    for (const sentence of await unknownSkips(flags.skip, found.resources)) {
      stderr.write(`warning: ${printable(sentence)}\n`);
    }
  }
  if (found.fixedStdin !== undefined) stdout.write(found.fixedStdin);
  if (!WITH_NOT_EVALUATED.includes(flags.output)) {
    for (const sentence of found.notEvaluated) stderr.write(`not checked: ${printable(sentence)}\n`);
  }
  return {
    report,
    withSummary: flags.summary === true,
    version,
    cwd,
    root: rootOf(cwd, env),
    exitCode: severitiesOf(report).errors > 0 || (isEmpty && flags.strict === true) ? EXIT.notWell : EXIT.ok,
    ...(found.fixedStdin === undefined ? {} : { out: stderr }),
  };
}

/** The outputs that have a place for what was not judged. */
const WITH_NOT_EVALUATED: readonly string[] = ['text', 'json', 'yaml'];

/** A request that cannot be met, such as an unknown commit, is a wrong command line: exit code 1 means errors in manifests. */
function refused(error: unknown): never {
  throw error instanceof Error && error.constructor === Error ? new CliError(EXIT.usage, error.message) : error;
}

/** Asks a server for the versions of Kubernetes that its clusters run. */
async function versionsOfFleet(context: CliContext, flags: Flags): Promise<Partial<ValidationRequest>> {
  const { versions, warnings } = fleetVersions(await (await connect(context, flags)).list('clusters'));
  for (const warning of warnings) context.stderr.write(`warning: ${printable(warning)}\n`);
  return versions.length === 0 ? {} : { kubernetesVersions: versions };
}

/** The part of the request that the flags give. */
function requestOf(flags: Flags): Partial<ValidationRequest> {
  const {
    kubernetesVersion,
    schemaLocation,
    kubeconfig,
    context,
    changedSince: since,
    repository,
    config,
    source,
  } = flags;
  const cluster = kubeTarget({ kubeconfig, context });
  return {
    ...given({ kubernetesVersions: kubernetesVersion }),
    ...(schemaLocation.length === 0 ? {} : { schemaLocations: schemaLocation }),
    ...given({ cluster, since, repository }),
    ...(config === undefined ? {} : { config, ...(source && { source }) }),
    skip: flags.skip,
    strictKinds: flags.strictKinds === true,
    ignoreMissingSchemas: flags.ignoreMissingSchemas === true,
    fix: flags.fix === true,
  };
}

function hardened(report: ValidationReport): ValidationReport {
  const harden = (diagnostic: Diagnostic): Diagnostic => ({ ...diagnostic, severity: 'error' });
  return { ...report, diagnostics: report.diagnostics.map(harden) };
}

/** Values between commas; may be repeated. */
function listOption(flags: string, meaning: string): Option {
  const split = (text: string): readonly string[] => text.split(',').map((item) => item.trim());
  const collected = (text: string, before: readonly string[]) => [
    ...before,
    ...split(text).filter((item) => item !== ''),
  ];
  return new Option(flags, `${meaning}; separated by commas, may be repeated`).argParser(collected).default([], 'none');
}

/** The root of the repository where a CI system names it, else the current folder. */
function rootOf(cwd: string, { GITHUB_WORKSPACE, CI_PROJECT_DIR }: CliContext['env']): string {
  const root = GITHUB_WORKSPACE ?? CI_PROJECT_DIR ?? '';
  return root !== '' && !relative(root, cwd).startsWith('..') ? resolve(root) : cwd;
}

const PROGRESS_AFTER_MS = 1_000;
const PROGRESS_EVERY_MS = 200;

/** A line on the terminal that is written again and again while files are read. */
function progressLine({ stderr }: CliContext) {
  let nextAt = performance.now() + PROGRESS_AFTER_MS;
  let isShown = false;
  return {
    show(done: number, total: number | undefined): void {
      const now = performance.now();
      if (!stderr.isTerminal || now < nextAt) return;
      nextAt = now + PROGRESS_EVERY_MS;
      isShown = true;
      stderr.write(`\r${total === undefined ? `${done} files found` : `${done} of ${total} files`}\u001b[K`);
    },
    clear(): void {
      if (isShown) stderr.write('\r\u001b[K');
    },
  };
}
