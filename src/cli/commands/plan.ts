import type { PlanView } from '../../model/plan/plan.ts';
import { planMarkdown } from '../../model/plan/plan-markdown.ts';
import { hasChanges } from '../../model/plan/plan-text.ts';
import type { ApiOptions } from '../api-options.ts';
import { withApiOptions } from '../api-options.ts';
import { type CliCommand, type CliContext, newCommand } from '../command.ts';
import { EXIT, type ExitCode, refuseUsage } from '../exit-codes.ts';
import { FORMATS, type TextOutput } from '../output.ts';
import { writePlan } from '../plan-table.ts';

interface Flags extends ApiOptions {
  readonly base?: string;
  readonly config?: string;
  readonly source?: string;
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
      'Says for each cluster what a revision would create, change, move, remove or hold, which fields change, and for which line, Placement or label. With --base it compares two states of a repository from documents alone, without a server.',
    )
    .argument('[ref-or-path]', 'a folder of a work tree, or a commit or branch', '.')
    .option('--base <commit>', 'compare with this commit, from documents alone, without a server')
    .option('--config <file>', 'RelayConfig of the server: what it allows the source, and its limits, count')
    .option('--source <name>', 'the source that is planned (default: the only one)')
    .option('--exit-code', 'exit with 1 if the plan changes anything, as git diff does')
    .examples([
      ['fleetrelay plan --base main', 'what the work tree in this folder changes since it left main'],
      ['fleetrelay plan feature --base main -o markdown', 'the same for a branch, for the comment of a pull request'],
    ]);
  return withApiOptions(command).answersIn(PLAN_FORMATS, async (flags: Flags, target: string): Promise<PlanAnswer> => {
    const value = await planned(context, flags, target);
    return { value, exitCode: flags.exitCode === true && hasChanges(value) ? EXIT.notWell : EXIT.ok };
  });
}

async function planned(context: CliContext, { base, config, source }: Flags, target: string): Promise<PlanView> {
  refuseUsage([[base === undefined, 'say with --base what to compare with']]);
  const { cwd, env } = context;
  const choice = { ...(config === undefined ? {} : { config }), ...(source === undefined ? {} : { source }) };
  return context.roots.planDocuments({ ...choice, target, base: base ?? '', cwd, env });
}
