import type { ReportedDomain } from '../../../engine/graph.ts';
import type { ServerCore } from '../../../runtime/core.ts';
import type { SharedRecord } from '../../../runtime/ledger/records.ts';
import { fields, isText } from '../../../runtime/ledger/shapes.ts';
import type { Replica } from '../../../runtime/replica/replica.ts';
import { createSharedInput } from '../../../runtime/shared-input.ts';
import type { CareParts } from '../engine/care.ts';
import { type AnsweredRequest, isForOthers, nextAnswer } from '../engine/operation/requests.ts';
import type { OperationRequest } from '../engine/operation/types.ts';
import { lastOperationOf } from '../engine/written-operation.ts';

/**
 * What became of a request. `unknown`: no source declares the Shoot. `uncared`: others care for it, or an annotation switches care
 * off. `new`: it has no operation yet. `asleep`: no operation begins in it. `retryOnly`, `notFailed`: the other request has effect.
 */
export type RequestOutcome = 'taken' | 'unknown' | 'uncared' | 'new' | 'asleep' | 'retryOnly' | 'notFailed';

/** What was answered of what is asked of Shoots, by Shoot. */
export const requestRecords: SharedRecord = {
  prefix: 'operation-requests/',
  shape: fields({ spec: isText, annotation: isText }),
};

export type OperationRequests = ReturnType<typeof createOperationRequests>;

/**
 * Remembers what is asked of Shoots by their declarations and by commands, and what of it was answered. The leader answers: a
 * record of the store has the outcome, so that a request survives a restart and counts once. Adds a recorder to the loop.
 */
export function createOperationRequests(
  core: ServerCore,
  { parts, report }: ReportedDomain<CareParts>,
  { leads, knowsAll }: Pick<Replica, 'leads' | 'knowsAll'>,
) {
  const { engine, loop, log } = core;
  const { declaredRequests: declared, answeredRequests: input } = parts;
  const { operations } = report;
  const answers = createSharedInput<AnsweredRequest, AnsweredRequest>(core, requestRecords, {
    input,
    staged: (value) => value,
  });
  const { observed } = engine.inputs;
  const lastOf = (shoot: string) => lastOperationOf(observed.get('Shoot', shoot));
  const watched = [declared, input, observed, operations].map((collection) => engine.graph.watch<unknown>(collection));

  /** True: something was staged. */
  const answer = (shoot: string, knowsAll: boolean): boolean => {
    const request = declared.get('', shoot);
    const answered = answers.get(shoot);
    if (request === undefined) {
      if (answered === undefined || !knowsAll) return false;
      answers.delete(shoot);
      return true;
    }
    const next = nextAnswer(request, answered, lastOf(shoot), operations.get('', shoot)?.begins);
    if (next !== undefined) answers.set(shoot, next);
    return next !== undefined;
  };

  let hasLookedAtAll = false;
  loop.addRecorder('judgements', () => {
    const changed = watched.flatMap((changes) => changes.take());
    const isComplete = leads() && knowsAll();
    const all = isComplete && !hasLookedAtAll ? [...declared.entries(''), ...input.entries('')] : [];
    hasLookedAtAll = isComplete;
    if (!leads()) return false;
    const shoots = [...changed.filter(({ partition }) => partition === '' || partition === 'Shoot'), ...all];
    return [...new Set(shoots.map(({ key }) => key))].map((shoot) => answer(shoot, isComplete)).includes(true);
  });

  return {
    /** A person asks for an operation. */
    ask: (shoot: string, request: OperationRequest, by: string): RequestOutcome => {
      const asked = declared.get('', shoot);
      const last = lastOf(shoot);
      if (asked === undefined) return 'unknown';
      const status = engine.statuses.get('Shoot', shoot);
      const binding = parts.bindings.get('', shoot);
      if (status?.isOfOthers === true || binding?.isIgnored === true) return 'uncared';
      if (last === undefined) return 'new';
      if (binding?.wantsHibernation === true && parts.hibernated.get('', shoot) === true) return 'asleep';
      if (isForOthers(request, last)) return request === 'retry' ? 'notFailed' : 'retryOnly';
      answers.set(shoot, { ...(answers.get(shoot) ?? { spec: asked.spec, annotation: '' }), request });
      log.info('an operation is asked for', { shoot, request, by });
      return 'taken';
    },
    /** Of the last request for this Shoot. */
    receipt: answers.receipt,
    /** Ends the reading of what other replicas write. */
    stop: answers.follow(),
  };
}
