import type { ConditionView, DeclarationExplanation, Explanation, FieldView } from '../../api/server-api.ts';
import type { WhyNotView } from '../../api/why-api.ts';
import type { DriftRecord } from '../../model/fleet/drift.ts';
import { displayObjectName, EXPLAIN_GRAMMAR, parseExplainQuery } from '../../model/fleet/explain-query.ts';
import { parseClusterName } from '../../model/fleet/ids.ts';
import { textOf } from '../../model/text/json.ts';
import { printable } from '../../model/text/printable.ts';
import { type Api, connect } from '../api.ts';
import { type ApiOptions, withApiOptions } from '../api-options.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
import { domainViews } from '../domain-views.ts';
import { CliError, EXIT, refuseUsage } from '../exit-codes.ts';
import { type Column, type CommandAnswer, styled, type TextOutput, writeTableBelow } from '../output.ts';
import { DRIFT_COLUMNS } from '../views.ts';

const STEP_COLUMNS: readonly Column<Explanation['because'][number]>[] = [
  { title: 'BECAUSE OF', text: ({ kind, name, depth = 0 }) => `${'  '.repeat(depth)}${kind} ${name}`.trimEnd() },
  { title: 'AT', text: ({ at }) => at },
  { title: 'NOTE', text: ({ note }) => note },
];

const CONDITION_COLUMNS: readonly Column<ConditionView>[] = [
  { title: 'CONDITION', text: ({ type }) => type },
  { title: 'STATUS', text: ({ status }) => status },
  { title: 'REASON', text: ({ reason }) => reason },
  { title: 'MESSAGE', text: ({ message }) => message },
];

/** The object and its cluster are above. A spread gives a record the index signature that a row of a view has. */
const EXPLAINED_DRIFT_COLUMNS: readonly Column<DriftRecord>[] = DRIFT_COLUMNS.filter(
  ({ title }) => title !== 'CLUSTER' && title !== 'OBJECT',
).map((column) => ({ ...column, text: (row) => column.text({ ...row }) }));

const EXPLAINED = domainViews.flatMap(({ explain }) => explain ?? []);

/** The status of an entity of a domain as people read it. */
function statusText(status: string): string {
  return EXPLAINED.flatMap(({ statuses }) => statuses?.[status] ?? [])[0] ?? status;
}

/** The options that name what contains an entity. */
const PARENTS = EXPLAINED.flatMap(({ parent }) => parent ?? []);

interface Flags extends ApiOptions {
  readonly whyNot?: true;
  /** Of {@link PARENTS}. */
  readonly [parent: string]: unknown;
}

/** `fleetrelay explain [CLUSTER] KIND/[NAMESPACE/]NAME [FIELD|CONDITION]`: the origin, down to file and line. */
export function explainCommand(context: CliContext): CliCommand {
  const command = newCommand('explain', context)
    .summary('where an object or a declaration comes from, or why it is missing; what a code means')
    .description(
      [
        'Walks from an object of a cluster back to the files, lines and rules that it comes from. For a kind that the server reads itself, such as Placement, it shows the declaration that is in force, what that selects, and its conditions. KIND is a kind, its plural or a short name of kubectl, KIND.GROUP where several groups have it.',
        ...EXPLAINED.map(({ what }) => what),
        'For the code of a finding it shows its page.',
      ].join(' '),
    )
    .usage(`[options] ${EXPLAIN_GRAMMAR} | CODE`)
    .argument(
      '<question...>',
      'name of a cluster, unless the server reads the kind; the object; a field such as spec.replicas, or a condition such as Ready',
    )
    .option('--why-not', 'why the object is not in the cluster, or not as it is declared, and what to do')
    .examples([
      ['fleetrelay explain east deploy/web/frontend', 'an object of the cluster "east", in the namespace "web"'],
      ['fleetrelay explain east deploy/frontend spec.replicas', 'the line of one of its fields'],
      ['fleetrelay explain east deploy/web/frontend --why-not', 'why it is not there; works for any name'],
      ['fleetrelay explain Placement/shop', 'a declaration, which lies in no cluster'],
      ['fleetrelay explain KubernetesCluster/east InSync', 'why one of its conditions is as it is'],
      ...EXPLAINED.flatMap(({ examples }) => examples),
      ['fleetrelay explain FR2003', 'what the code of a finding means, with an example; needs no server'],
      ['fleetrelay explain UnknownField', 'the same by the reason of the finding'],
    ]);
  for (const { name, what } of PARENTS) command.option(`--${name} <name>`, what);
  return withApiOptions(command).answers(async ({ whyNot, ...flags }: Flags, words: readonly string[]) => {
    if (whyNot === true) return whyNotAnswer(await connect(context, flags), questionOf(words));
    const [code = ''] = words;
    const page = words.length === 1 ? await (await import('../rule-pages.ts')).ruleAnswer(code) : undefined;
    if (page !== undefined) return page;
    const parent = PARENTS.map(({ name }) => flags[name]).find((name) => typeof name === 'string');
    const question = { ...questionOf(words), parent };
    const api = await connect(context, flags);
    const explanation = await api.explain(question).catch(async (error: unknown) => {
      throw await withHistory(api, question, error);
    });
    return { value: explanation, table: (out) => writeExplanation(out, explanation) };
  });
}

function questionOf(words: readonly string[]) {
  const query = parseExplainQuery(words);
  const hint = '`fleetrelay get outputs` lists all objects';
  if (!query.ok) throw new CliError(EXIT.usage, `${printable(words.join(' '))}: ${query.problem}`, hint);
  const { cluster, object, part } = query.value;
  const name = cluster === undefined ? undefined : parseClusterName(cluster);
  if (name?.ok === false) throw new CliError(EXIT.usage, printable(name.problem));
  return { cluster, object: displayObjectName(object), part };
}

/** The error; if the object was sent to the cluster earlier, its hint names the command that shows when it was removed. */
async function withHistory(api: Api, { cluster, object }: ReturnType<typeof questionOf>, error: unknown) {
  if (!(error instanceof CliError) || error.exitCode !== EXIT.notFound || cluster === undefined) return error;
  const way = await wayToHistory(api, cluster, object);
  return way === undefined ? error : new CliError(error.exitCode, error.message, way);
}

/** Undefined: nothing of the object was sent, as far as the log of the cluster goes. */
async function wayToHistory(api: Api, cluster: string, object: string): Promise<string | undefined> {
  const [last] = await api.list('history', { cluster, object, limit: '1' }).catch(() => []);
  const removed = last?.objects.some(({ change }) => change === 'remove') === true;
  if (last === undefined) return undefined;
  return `${removed ? 'its removal was' : 'it was'} sent at ${last.at}: fleetrelay history ${cluster} ${object}`;
}

async function whyNotAnswer(
  api: Api,
  { cluster, object, part }: ReturnType<typeof questionOf>,
): Promise<CommandAnswer> {
  refuseUsage([
    [cluster === undefined, '--why-not needs the cluster: fleetrelay explain CLUSTER KIND/NAME --why-not'],
    [part !== undefined, '--why-not is about the complete object, not about a field or condition'],
  ]);
  const answer = await api.whyNot(cluster ?? '', object);
  const isGone = answer.reasons.some(({ reason }) => reason === 'NotDeclared');
  const way = isGone ? await wayToHistory(api, cluster ?? '', object) : undefined;
  return {
    value: answer,
    table: (out) => {
      writeWhyNot(out, answer);
      if (way !== undefined) out.write(`  ${printable(way)}\n`);
    },
  };
}

function writeWhyNot(out: TextOutput, { cluster, object, isThere, reasons }: WhyNotView): void {
  const state = isThere ? `is in ${cluster}` : `is not in ${cluster} as it is declared`;
  out.write(`${styled(out, 'strong', printable(object))} ${printable(state)}\n`);
  for (const { reason, message, at, todo } of reasons) {
    const place = at === '' ? '' : `\n    at ${printable(at)}`;
    const advice = todo === '' ? '' : `\n    to do: ${printable(todo)}`;
    out.write(`  ${printable(reason)}: ${printable(message)}${place}${advice}\n`);
  }
}

const STATES: Readonly<Record<DeclarationExplanation['state'], string>> = {
  inForce: 'in force',
  lastKnownGood: 'last known good',
  undeclared: 'not declared',
};

const FOUND: Readonly<Record<FieldView['found'], string>> = {
  value: '',
  parent: ' (it is not written; this is where it would be)',
  file: ' (the line cannot be told now)',
  rule: '',
};

/** Where the subject is, and its state. */
function headOf(explanation: Explanation): { readonly where: string; readonly state: string } {
  if ('entity' in explanation) {
    const { parent, cluster, entity } = explanation;
    const stale = entity.stale === true ? ' (stale)' : '';
    const places = [
      ...(parent === undefined ? [] : [`${parent.kind} ${parent.name}`]),
      ...(cluster === undefined ? [] : [`cluster ${cluster}`]),
    ];
    return {
      where: places.length === 0 ? '' : ` in ${places.join(', ')}`,
      state: `${statusText(textOf(entity.status))}${stale}`,
    };
  }
  if (explanation.cluster === null) return { where: '', state: STATES[explanation.state] };
  return { where: ` in ${explanation.cluster}`, state: explanation.state };
}

function writeExplanation(out: TextOutput, explanation: Explanation): void {
  const { object, message, field, condition, because } = explanation;
  const { where, state } = headOf(explanation);
  const more = message === '' ? '' : `; ${printable(message)}`;
  out.write(`${styled(out, 'strong', printable(object))}${printable(where)}: ${printable(state)}${more}\n`);
  if (field !== undefined) {
    const by =
      field.by === undefined ? '' : ` (no line sets it: fleetrelay makes the object by ${printable(field.by)})`;
    out.write(`${styled(out, 'strong', printable(field.path))}: ${printable(field.at)}${FOUND[field.found]}${by}\n`);
  }
  // A question about a field does not ask for the conditions.
  const all = 'conditions' in explanation && field === undefined ? (explanation.conditions ?? []) : [];
  const conditions = condition === undefined ? all : [condition];
  writeTableBelow(out, CONDITION_COLUMNS, conditions);
  if ('drift' in explanation && explanation.drift !== undefined) {
    writeTableBelow(out, EXPLAINED_DRIFT_COLUMNS, [explanation.drift]);
  }
  writeTableBelow(out, STEP_COLUMNS, because);
}
