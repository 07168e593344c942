import type { ValueRef } from '../../engine/domain.ts';
import type { WhyNotReason } from '../../engine/explain/not-selected.ts';
import { whyNot } from '../../engine/explain/why-not.ts';
import type { Engine } from '../../engine/graph.ts';
import { displayObjectName, parseObjectName } from '../../model/explain-query.ts';
import { quote } from '../../model/ids.ts';
import { displayKey } from '../../model/object-key.ts';
import { rfc3339 } from '../../model/time.ts';
import type { Answer } from '../../server/api.ts';
import type { WhyNotView } from '../../server/why-api.ts';
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
  const all = reasons.flatMap((reason) => (reason.reason === 'NotSent' ? whyNotSent(deps, cluster, reason) : [reason]));
  const waiting = all.some(({ reason }) => MAY_WAIT.includes(reason)) ? revisionsThatWait(deps) : [];
  const shown = [...all, ...waiting].map(async ({ reason, message, at, todo }) => ({
    ...{ reason, message, todo },
    at: at === undefined ? '' : await placeOf(deps, at),
  }));
  const named = key === undefined ? written : displayKey(key);
  return { ok: true, value: { cluster, object: named, isThere, reasons: await Promise.all(shown) } };
}

async function placeOf(deps: StepDeps, at: ValueRef): Promise<string> {
  return displayPlace(deps, at.source, await deps.locator.find(at));
}

/** What a decided object waits for. */
function whyNotSent(
  { engine, suspensions, ready }: WhyNotDeps,
  cluster: string,
  reason: WhyNotReason,
): readonly WhyNotReason[] {
  const waits = (constant: string, message: string, todo: string): readonly WhyNotReason[] => [
    { ...reason, reason: constant, message, todo },
  ];
  const agent = engine.inputs.agents.get('', cluster);
  const suspended = suspensions.get('cluster', cluster);
  if (suspended !== undefined) {
    const why = suspended.reason === '' ? '' : `: ${suspended.reason}`;
    const message = `${suspended.by} has suspended the cluster at ${rfc3339(suspended.at)}${why}`;
    return waits('Suspended', message, `fleetrelay cluster resume ${cluster}`);
  }
  if (!ready())
    return waits(
      'Starting',
      'the server has not read every source since its start',
      'wait, or see `fleetrelay get sources`',
    );
  if (agent === undefined || agent.since === 0) {
    return waits('NeverConnected', `no agent of ${cluster} has connected yet`, `fleetrelay cluster token ${cluster}`);
  }
  if (!agent.connected) {
    const problem = agent.problem === '' ? '' : `: ${agent.problem}`;
    const message = `the agent of ${cluster} is not connected since ${rfc3339(agent.since)}${problem}`;
    return waits('NotConnected', message, `start the agent, or see why it cannot connect: \`fleetrelay check\``);
  }
  if (agent.problem !== '') {
    return waits('Refused', `the cluster does not take its output: ${agent.problem}`, 'the message names what to do');
  }
  return [reason];
}

/** Sources of which a newer revision is not in force. */
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
