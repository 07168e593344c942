import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { PlanView } from '../../model/plan/plan.ts';
import { planMarkdown } from '../../model/plan/plan-markdown.ts';
import { movedSince, parsePlan } from '../../model/plan/plan-moves.ts';
import { hasChanges } from '../../model/plan/plan-text.ts';
import { parseJson } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import { given } from '../../model/values/given.ts';
import { type ApiOptions, withApiOptions } from '../api-options.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
import { CliError, EXIT, type ExitCode, refuseUsage } from '../exit-codes.ts';
import { FORMATS, type TextOutput, whileWaiting } from '../output.ts';
import { writePlan } from '../plan-table.ts';

interface Flags extends ApiOptions {
  readonly base?: string;
  readonly snapshot?: string;
  readonly config?: string;
  readonly source?: string;
  readonly earlier?: string;
  readonly exitCode?: true;
}

interface PlanAnswer {
  readonly value: PlanView;
  readonly exitCode: ExitCode;
}

const PLAN_FORMATS = {
  table: (out: TextOutput, { value }: PlanAnswer) => writePlan(out, value),
  json: FORMATS.json,
  yaml: FORMATS.yaml,
  markdown: (out: TextOutput, { value }: PlanAnswer) => out.write(planMarkdown(value)),
} as const;

/** `fleetrelay plan [REF|PATH]`: what a revision would do to every cluster. Exit code 1 with `--exit-code` if it does anything. */
export function planCommand(context: CliContext): CliCommand {
  const command = newCommand('plan', context)
    .summary('what a change would do to every cluster, before it is merged')
    .description(
      'Says for each cluster what a revision would create, change, move, remove or hold, which fields change, and which line, Placement or label is the reason. A branch is planned by the running server, with all that it knows of the clusters. A folder is planned here, against the present state of the server, or against a recording of it. With --base two states of a repository are compared from documents alone, without a server; what guards, safe mode and live state would say is then not judged.',
    )
    .argument('[ref-or-path]', 'a branch of the repository, or a folder of a work tree', '.')
    .option('--base <commit>', 'compare with this commit, from documents alone, without a server')
    .option('--snapshot <file>', 'compare with a recording (`fleetrelay snapshot record`), without a server')
    .option('--source <name>', 'the source that is planned (default: the only one)')
    .option(
      '--config <file>',
      'with --base: RelayConfig of the server; what it allows the source, and its limits, count',
    )
    .option('--earlier <file>', 'name what has moved since an earlier plan (its JSON)')
    .option('--exit-code', 'exit with 1 if the plan changes anything, as git diff does')
    .examples([
      ['fleetrelay plan feature', 'what merging the branch "feature" would do to every cluster'],
      ['fleetrelay plan .', 'what the work tree in this folder would do'],
      ['fleetrelay plan --base main', 'the same from documents alone, since the work tree left main'],
      ['fleetrelay plan feature --base main -o markdown', 'for the comment of a pull request, in CI without a server'],
      ['fleetrelay plan feature --earlier plan.json', 'what has moved since the plan that was reviewed'],
      ['fleetrelay plan --snapshot fleet.jsonl.gz --exit-code', 'against a recording; exit code 1 if anything changes'],
    ]);
  return withApiOptions(command).answersIn(PLAN_FORMATS, async (flags: Flags, target: string): Promise<PlanAnswer> => {
    const { earlier: file } = flags;
    const earlier = file === undefined ? undefined : await readPlan(resolve(context.cwd, file), file);
    const now = await whileWaiting(context.stderr, 'planning', () => planned(context, flags, target));
    const value = earlier === undefined ? now : { ...now, moved: movedSince(earlier, now) };
    return { value, exitCode: flags.exitCode === true && hasChanges(value) ? EXIT.notWell : EXIT.ok };
  });
}

async function readPlan(file: string, name: string): Promise<PlanView> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CliError(EXIT.usage, `cannot read the plan ${name}: ${errorText(error)}`);
  });
  const plan = parsePlan(parseJson(text));
  if (!plan.ok) throw new CliError(EXIT.usage, `${name} ${plan.problem}`);
  return plan.value;
}

async function planned(context: CliContext, flags: Flags, target: string): Promise<PlanView> {
  const { base, snapshot, config, source } = flags;
  refuseUsage([
    [base !== undefined && snapshot !== undefined, '--base and --snapshot exclude each other'],
    [config !== undefined && base === undefined, '--config needs --base'],
    [source !== undefined && base !== undefined && config === undefined, '--source needs --config with --base'],
  ]);
  const { cwd, env, roots } = context;
  const chosen = given({ source });
  if (base !== undefined) {
    return roots.planDocuments({ ...chosen, ...given({ config }), target, base, cwd, env });
  }
  if (snapshot !== undefined) return roots.planFolder({ ...chosen, folder: target, recording: snapshot, cwd, env });
  const { connect } = await import('../api.ts');
  const api = await connect(context, flags);
  if (!(await roots.isFolder({ cwd, path: target }))) return api.plan(target, source);
  return roots.planFolder({ ...chosen, folder: target, recording: await api.recording(), cwd, env });
}
