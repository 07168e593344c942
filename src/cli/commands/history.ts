import type { AnswerState, ChangeReason, DeltaView, SentObjectView } from '../../api/history-api.ts';
import { isNameOf, type ObjectName, parseObjectName } from '../../model/fleet/explain-query.ts';
import type { ClusterName } from '../../model/fleet/ids.ts';
import { type JsonObject, textOf } from '../../model/text/json.ts';
import { counted } from '../../model/text/messages.ts';
import { printable } from '../../model/text/printable.ts';
import { parseRfc3339, rfc3339 } from '../../model/text/time.ts';
import type { Api } from '../api.ts';
import { clusterName, momentOrDuration, wholeNumber } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, newCommand } from '../command.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import { follow } from '../follow.ts';
import {
  type Column,
  type CommandAnswer,
  LIST_FORMATS,
  type TextOutput,
  WRITTEN,
  writeInTurn,
  writeTable,
  writeTableBelow,
} from '../output.ts';
import { DRIFT_COLUMNS } from '../views.ts';

interface Flags {
  readonly limit: number;
  /** In milliseconds since 1970. */
  readonly since?: number;
  readonly output: string;
  readonly watch?: true;
}

const REASONS: Readonly<Record<ChangeReason, string>> = {
  firstContact: 'first contact',
  approval: 'approved',
  revision: 'new revision',
  placement: 'other placement',
  live: 'live state',
  restored: 'lost there',
  other: 'was waiting, or differed there',
};

const ANSWERS: Readonly<Record<AnswerState, string>> = {
  sent: 'not answered yet',
  accepted: 'accepted',
  rejected: 'refused',
  calledOff: 'called off',
  unknown: 'not known',
  lost: 'did not arrive',
};

const CHANGES: Readonly<Record<SentObjectView['change'], string>> = {
  create: 'created',
  change: 'changed',
  remove: 'removed',
  touch: 'unchanged',
};

const SHORT_REVISION = 12;

const DELTA_COLUMNS: readonly Column<DeltaView>[] = [
  { title: 'SENT', text: ({ at }) => at },
  { title: 'DELTA', text: ({ epoch, sequence }) => `${epoch}.${sequence}` },
  { title: 'FROM', text: revisionsOf },
  { title: 'WHY', text: ({ reasons }) => reasons.map((reason) => REASONS[reason]).join(', ') || '-' },
  { title: 'CHANGES', text: changesOf },
  { title: 'ANSWER', text: ({ answer: { state } }) => ANSWERS[state], isState: true },
  { title: 'RESULT', text: resultOf },
];

/** An object of a delta, as one line. */
interface SentRow extends SentObjectView {
  readonly delta: DeltaView;
}

const OBJECT_COLUMNS: readonly Column<SentRow>[] = [
  { title: 'SENT', text: ({ delta }) => delta.at },
  { title: 'OBJECT', text: ({ object }) => object },
  { title: 'CHANGE', text: ({ change }) => CHANGES[change] },
  { title: 'WHY', text: ({ reason }) => REASONS[reason] },
  { title: 'FROM', text: ({ delta, from }) => fileOf(delta, from) },
  { title: 'STATE', text: stateOf, isState: true },
  { title: 'SINCE', text: ({ delta, stateAt }) => stateAt ?? delta.answer.at },
  { title: 'MESSAGE', text: ({ delta, message, state }) => (state === null ? delta.answer.message : message) },
];

/** `fleetrelay history CLUSTER [OBJECT]`: what was sent, and what became of it. */
export function historyCommand(context: CliContext): CliCommand {
  return newCommand('history', context)
    .summary('what was sent to a cluster, when, from which commit, why, and what became of it')
    .description(
      'Lists the deltas that were sent to a cluster, the newest first: the commits that they were computed from (* marks a new one), why, how many objects they change, whether the agent has taken them, and what it has reported since. With an object it lists what was sent of that object. -o wide lists all objects. Below is the drift that the agent has found since it has started: what others have changed or removed. The log has the last 100 deltas of a cluster, within 64 KiB, and lists the first 100 objects of each; the others are counted. A large change is sent in several deltas.',
    )
    .argument('<cluster>', 'name of a cluster', clusterName)
    .argument('[object]', 'KIND/NAMESPACE/NAME or KIND/NAME: only what was sent of it')
    .option('--limit <count>', 'number of deltas to list, the newest', wholeNumber(1, 1_000), 20)
    .option(
      '--since <time>',
      'only what was sent since then: a time of RFC 3339, or a duration such as 2h',
      momentOrDuration,
    )
    .option('-w, --watch', 'go on, and print each delta again when it changes')
    .examples([
      ['fleetrelay history east', 'what was sent to "east" lately'],
      ['fleetrelay history east deploy/web/frontend', 'each change of one object, and how far it got'],
      ['fleetrelay history east --since 2h -o wide', 'every object that was sent in the last two hours'],
      ['fleetrelay history east --limit 1 -o json', 'the newest delta, for programs'],
    ])
    .asks(async (api, flags: Flags, cluster: ClusterName, object?: string): Promise<CommandAnswer> => {
      const name = object === undefined ? undefined : parseObjectName(object);
      if (name?.ok === false) throw new CliError(EXIT.usage, `${printable(object ?? '')}: ${name.problem}`);
      const since = flags.since === undefined ? undefined : rfc3339(flags.since);
      const ask = () => api.list('history', { cluster, object, since, limit: String(flags.limit) });
      const deltas = await ask();
      const isWide = object !== undefined || flags.output === 'wide';
      const write = (out: TextOutput, shown: readonly DeltaView[], wide: boolean): void =>
        wide ? writeObjects(out, shown) : writeTable(out, DELTA_COLUMNS, shown);
      if (flags.watch === true) {
        const nameOf = ({ epoch, sequence }: DeltaView): string => `${epoch}.${sequence}`;
        const isTable = ['table', 'wide'].includes(flags.output);
        const show = (changed: readonly DeltaView[]) =>
          isTable ? write(context.stdout, changed, isWide) : writeInTurn(context.stdout, flags.output, changed);
        await follow(context, deltas, { ask, nameOf, show });
        return WRITTEN;
      }
      const what = object === undefined ? 'nothing' : `nothing of ${printable(object)}`;
      const none = `the log has ${what} that was sent to ${cluster}${since === undefined ? '' : ` since ${since}`}\n`;
      const drifts = await driftOf(api, { cluster, since: flags.since }, name?.value);
      const table = (wide: boolean) => (out: TextOutput) => {
        if (deltas.length === 0) out.write(none);
        else write(out, deltas, wide);
        writeTableBelow(out, DRIFT_COLUMNS, drifts);
      };
      return { value: deltas, table: table(isWide), wide: table(true) };
    }, LIST_FORMATS);
}

/** What others have changed in the cluster, the oldest first. An object is named by its own words. */
async function driftOf(
  api: Api,
  { cluster, since }: { readonly cluster: ClusterName; readonly since: number | undefined },
  name: ObjectName | undefined,
): Promise<readonly JsonObject[]> {
  const rows = await api.view('drift', { cluster: [cluster] });
  return rows.filter(({ time, object }) => {
    const isLate = since === undefined || (parseRfc3339(textOf(time)) ?? 0) >= since;
    return isLate && (name === undefined || isOfName(textOf(object), name));
  });
}

/** `object`: as the server shows it, `Deployment.apps/web/frontend`. */
function isOfName(object: string, name: ObjectName): boolean {
  const shown = parseObjectName(object);
  if (!shown.ok) return false;
  const { kind: word, namespace = '', name: own } = shown.value;
  const [kind = '', ...group] = word.split('.');
  return isNameOf(name, { group: group.join('.'), kind, namespace, name: own });
}

function revisionsOf({ revisions, unrecorded }: DeltaView): string {
  if (unrecorded) return '- (the log has lost it, and what was before it)';
  const shown = revisions.map(
    ({ source, revision, isNew }) => `${source}@${revision.slice(0, SHORT_REVISION)}${isNew ? '*' : ''}`,
  );
  return shown.join(', ') || '-';
}

function changesOf({ counts, rest }: DeltaView): string {
  const { create, change, remove, touch } = counts;
  const all = { created: create, changed: change, removed: remove, unchanged: touch };
  const parts = Object.entries(all).filter(([, amount]) => amount > 0);
  const more = rest === 0 ? '' : `; ${rest} in the next ones`;
  return `${parts.map(([word, amount]) => `${amount} ${word}`).join(', ') || '-'}${more}`;
}

/** Numbers of objects by their state, and the first message. */
function resultOf({ objects, answer, unlisted }: DeltaView): string {
  if (answer.message !== '') return answer.message;
  const counts = Map.groupBy(objects, ({ state }) => state ?? 'not reported');
  const first = objects.find(({ message }) => message !== '');
  const parts = [...counts].map(([state, of]) => `${of.length} ${state}`);
  const more = unlisted === 0 ? [] : [`${unlisted} not listed`];
  const why = first === undefined ? '' : `; ${first.object}: ${first.message}`;
  return `${[...parts, ...more].join(', ') || '-'}${why}`;
}

function fileOf({ revisions }: DeltaView, from: SentObjectView['from']): string {
  if (from === null) return '-';
  const revision = revisions.find(({ source }) => source === from.source)?.revision.slice(0, SHORT_REVISION);
  return `${from.source}:${from.path}${revision === undefined ? '' : `@${revision}`}`;
}

function stateOf({ delta: { answer }, state, change }: SentRow): string {
  if (state !== null) return state;
  if (answer.state !== 'accepted') return ANSWERS[answer.state];
  return change === 'touch' ? 'accepted' : 'not reported';
}

function writeObjects(out: TextOutput, deltas: readonly DeltaView[]): void {
  const rows = deltas.flatMap((delta) => delta.objects.map((object): SentRow => ({ ...object, delta })));
  if (rows.length > 0) writeTable(out, OBJECT_COLUMNS, rows);
  for (const { at, unlisted } of deltas) {
    if (unlisted > 0)
      out.write(`the delta of ${at} has ${counted(unlisted, 'object')} more, which the log does not list\n`);
  }
}
