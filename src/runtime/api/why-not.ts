import type { Answer } from '../../api/answer.ts';
import type { WhyNotView } from '../../api/why-api.ts';
import type { ValueRef, WhyNotReason } from '../../engine/domain.ts';
import { whyNot } from '../../engine/explain/why-not.ts';
import type { Engine } from '../../engine/graph.ts';
import { refusalText } from '../../model/agent/agent-refusal.ts';
import { displayObjectName, parseObjectName } from '../../model/fleet/explain-query.ts';
import { quote } from '../../model/fleet/ids.ts';
import { displayKey } from '../../model/objects/object-key.ts';
import { rfc3339 } from '../../model/text/time.ts';
import type { SourceState } from '../source-table.ts';
import type { Suspensions } from '../suspensions.ts';
import { listed } from './explain-messages.ts';
import { displayPlace, type StepDeps } from './explain-steps.ts';

interface WhyNotDeps extends StepDeps {
  readonly engine: Engine;
  readonly suspensions: Pick<Suspensions, 'get'>;
  readonly ready: () => boolean;
}

/** Reasons that a newer revision of a source could end. */
const MAY_WAIT = ['NotDeclared', 'UnknownKind', 'NotSelected', 'OtherFolder', 'NoPlacement', 'UnknownCluster'];

/** Reasons that the answer of an agent ends. */
const WAITS_FOR_AGENT = ['InFlight', 'NotReported', 'Removing'];

/** Answers why an object is not in a cluster. */
export async function whyNotIn(
  deps: WhyNotDeps,
  { cluster, object }: { readonly cluster: string; readonly object: string },
): Promise<Answer<WhyNotView>> {
  const name = parseObjectName(object);
  if (!name.ok) return { ok: false, kind: 'invalid', message: `${quote(object)} ${name.problem}` };
  const found = whyNot(deps.engine, cluster, name.value);
  const written = displayObjectName(name.value);
  if ('among' in found) {
    return {
      ok: false,
      kind: 'conflict',
      message: `${written} can be several objects of ${cluster}: ${listed(found.among)}`,
    };
  }
  const { key, isThere, reasons } = found;
  const all = reasons.flatMap((reason): readonly WhyNotReason[] => {
    if (reason.reason === 'NotSent') return [whyNotSent(deps, cluster, reason)];
    return WAITS_FOR_AGENT.includes(reason.reason) ? [reason, ...noAgent(deps, cluster, reason)] : [reason];
  });
  const waiting = all.some(({ reason }) => MAY_WAIT.includes(reason)) ? revisionsThatWait(deps) : [];
  const shown = [...all, ...waiting].map(async ({ reason, message, at, todo }) => ({
    reason,
    message,
    todo,
    at: at === undefined ? '' : await placeOf(deps, at),
  }));
  const named = key === undefined ? written : displayKey(key);
  return { ok: true, value: { cluster, object: named, isThere, reasons: await Promise.all(shown) } };
}

async function placeOf(deps: StepDeps, at: ValueRef): Promise<string> {
  return displayPlace(deps, at.source, await deps.locator.find(at));
}

/** What a decided object waits for. */
function whyNotSent(deps: WhyNotDeps, cluster: string, reason: WhyNotReason): WhyNotReason {
  const { engine, suspensions, ready } = deps;
  const suspended = suspensions.get('cluster', cluster);
  if (suspended !== undefined) {
    const why = suspended.reason === '' ? '' : `: ${suspended.reason}`;
    const message = `${suspended.by} has suspended the cluster at ${rfc3339(suspended.at)}${why}`;
    return { ...reason, reason: 'Suspended', message, todo: `fleetrelay cluster resume ${cluster}` };
  }
  if (!ready()) {
    const message = 'the server has not read every source since its start';
    return { ...reason, reason: 'Starting', message, todo: 'wait, or see `fleetrelay get sources`' };
  }
  const [away] = noAgent(deps, cluster, reason);
  if (away !== undefined) return away;
  const problem = engine.inputs.agents.get('', cluster)?.problem ?? '';
  if (problem === '') return reason;
  const message = `the cluster does not take its output: ${problem}`;
  return { ...reason, reason: 'Refused', message, todo: 'the message names what to do' };
}

/** That the agent is not connected; empty: it is. */
function noAgent({ engine }: WhyNotDeps, cluster: string, reason: WhyNotReason): readonly WhyNotReason[] {
  const agent = engine.inputs.agents.get('', cluster);
  if (agent?.connected === true) return [];
  const refusal = engine.inputs.refusals.get('', cluster);
  const refused = refusal === undefined || refusal.isOver ? '' : `; it was ${refusalText(refusal)}`;
  if (agent === undefined || agent.since === 0) {
    const message = `no agent of ${cluster} has connected yet${refused}`;
    const todo = refused === '' ? `fleetrelay cluster token ${cluster}` : 'see what to do: `fleetrelay check`';
    return [{ ...reason, reason: 'NeverConnected', message, todo }];
  }
  const message = `the agent of ${cluster} is not connected since ${rfc3339(agent.since)}${refused}`;
  const todo = 'start the agent, or see why it cannot connect: `fleetrelay check`';
  return [{ ...reason, reason: 'NotConnected', message, todo }];
}

/** Sources with a newer revision that is not in force. */
function revisionsThatWait({ sources, suspensions }: WhyNotDeps): readonly WhyNotReason[] {
  return sources.all().flatMap(({ source, condition }: SourceState): readonly WhyNotReason[] => {
    const suspended = suspensions.get('source', source.name);
    if (suspended !== undefined) {
      const message = `source ${source.name} is suspended by ${suspended.by}, so no newer revision of it counts`;
      return [{ reason: 'SourceSuspended', message, todo: `fleetrelay source resume ${source.name}` }];
    }
    if (condition.state === 'synced') return [];
    const message = `source ${source.name} is ${condition.state}, so a newer revision may not count yet: ${condition.message}`;
    const refused = condition.refusedRevision;
    const todo =
      refused === undefined
        ? '`fleetrelay get sources` shows more'
        : `fleetrelay source accept ${source.name} ${refused}`;
    return [{ reason: 'RevisionWaits', message, todo }];
  });
}
