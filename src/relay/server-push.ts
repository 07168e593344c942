import type { InputDelta } from '../model/agent/agent.ts';
import { type Digest, quote } from '../model/fleet/ids.ts';
import { bucketParts, inputParts, isOnePart } from '../model/fleet/input-parts.ts';
import { type Excess, excessText } from '../model/limits/quotas.ts';
import { createBucketedMap } from '../model/values/bucketed-map.ts';
import { atOnce, inSlices } from '../model/values/in-slices.ts';
import { digestsAfter, type InputDigests } from './input-digests.ts';
import { endOfDecision, type Greeted, welcomeFrame } from './server-state.ts';
import { createTransfers } from './transfer.ts';
import { createInputAssembler, digestRecords } from './wire/input.ts';
import { ProtocolError } from './wire/scalars.ts';

/**
 * Decides about a Push stream and welcomes it. It needs an established Pull stream of the same agent instance, and ends with
 * it, so the server takes no input from an agent whose inventory it does not know.
 */
export async function welcomePush(greeted: Greeted): Promise<void> {
  const { state, slot, link, hello } = greeted;
  const pull = slot.pull;
  const established = pull?.hello.instance === hello.instance && (await pull.established.promise);
  if (link.isOver()) return;
  if (pull === undefined || !established || pull.phase !== 'established') {
    const message = 'Push needs an admitted Pull stream of the same agent instance';
    return link.end({ code: 'unavailable', reason: 'NoPullStream', message });
  }
  const decision = state.listener.admit(hello, greeted.certificate);
  if (decision.type !== 'admitted') return link.end(endOfDecision(decision));
  slot.push?.end({ code: 'unavailable', reason: 'Superseded', message: 'a newer Push stream has taken its place' });
  slot.push = link;
  void link.over.then(() => {
    if (slot.push === link) slot.push = undefined;
  });
  void pull.link.over.then(({ reason, message }) => link.end({ code: 'unavailable', reason, message }));
  const digests = await inSlices(state.deps.clock, hashed(state.listener.inputDigests(slot.cluster)));
  if (!link.isOver()) startPush(greeted, digests);
}

/** Hashes the digests bucket by bucket. Yields after each part. */
function* hashed(entries: readonly (readonly [string, Digest])[]): Generator<undefined, InputDigests> {
  let digests: InputDigests = createBucketedMap<string, Digest>([], (digest) => digest);
  for (const part of bucketParts(entries, ([key]) => key)) {
    digests = digests.with(part);
    digests.digest();
    yield;
  }
  return digests;
}

function startPush(greeted: Greeted, held: InputDigests): void {
  const { state, slot, link, peerLimits } = greeted;
  const { limits, listener, counts, deps } = state;
  let digests = held;
  let notBefore = 0;
  /** A complete step has no answer yet. */
  let isTaking = false;
  let cancel = (): void => undefined;
  void link.over.then(() => cancel());
  /** Tells the sender from time to time that its step is being taken. */
  const stillTaking = (): void => {
    cancel = deps.clock.schedule(limits.stallMs / 3, () => {
      transfers.acknowledgeAgain();
      stillTaking();
    });
  };
  const transfers = createTransfers({ link, clock: deps.clock, limits, memory: state.memory }, (subject, answer) => {
    if (subject.case !== 'input') throw new ProtocolError('OutOfTurn', `a transfer of "${subject.case}" on Push`);
    if (isTaking) throw new ProtocolError('OutOfTurn', 'a step before the answer to the last one');
    if (deps.clock.monotonic() < notBefore) {
      const message = `a step less than ${limits.aboveQuotaMs / 1000} s after one that was above a quota`;
      throw new ProtocolError('RetriedTooSoon', message, 'exhausted');
    }
    const refuse = (excess: Excess): void => {
      notBefore = deps.clock.monotonic() + limits.aboveQuotaMs;
      counts.inputDeltasRefused += 1;
      listener.aboveQuota(slot.cluster, excess);
      answer({ reason: ABOVE_QUOTA, message: excessText(excess) });
    };
    const take = (delta: InputDelta, after: InputDigests): void =>
      listener.input(slot.cluster, delta, (excess) => {
        isTaking = false;
        cancel();
        if (excess !== undefined) {
          refuse(excess);
          return;
        }
        digests = after;
        counts.inputDeltas += 1;
        answer();
      });
    const check = (delta: InputDelta): void => {
      isTaking = true;
      stillTaking();
      if (isOnePart(delta)) take(delta, atOnce(checkedInput(digests, delta)));
      else
        inSlices(deps.clock, checkedInput(digests, delta))
          .then((after) => {
            if (!link.isOver()) take(delta, after);
          })
          .catch(link.fail);
    };
    return createInputAssembler(subject.value, limits, check, refuse);
  });
  transfers.setWindow(peerLimits.window);
  let listed = false;
  greeted.onFrame((frame) => {
    if (transfers.take(frame)) return;
    if (frame.case !== 'inputDigestsRequest') {
      throw new ProtocolError('OutOfTurn', `a frame "${frame.case}" on an open Push stream`);
    }
    if (listed) throw new ProtocolError('OutOfTurn', 'a second request for the input digests');
    listed = true;
    void transfers.send({ case: 'inputDigests', value: {} }, digestRecords([...digests]));
  });
  link.post(welcomeFrame(greeted, { inputDigest: digests.digest() }));
}

/** The step leads above a quota of the cluster. */
const ABOVE_QUOTA = 'AboveQuota';

/**
 * The digests after a step. Throws unless it starts from these, removes known keys, and leads to the digest that it names.
 * Yields after each part of it.
 */
function* checkedInput(digests: InputDigests, delta: InputDelta): Generator<undefined, InputDigests> {
  if (delta.from !== digests.digest()) {
    const message = `the delta starts from ${delta.from}, held is ${digests.digest()}`;
    throw new ProtocolError('DifferentBase', message, 'unavailable');
  }
  const unknown = delta.removals.find((key) => !digests.has(key));
  if (unknown !== undefined) {
    throw new ProtocolError('UnknownKey', `a removal of ${quote(unknown)}, which is not held`);
  }
  let after = digests;
  for (const part of inputParts(delta)) {
    after = digestsAfter(after, part);
    // Each part has few buckets, which are hashed now.
    after.digest();
    yield;
  }
  if (after.digest() === delta.to) return after;
  throw new ProtocolError('DigestMismatch', 'the delta does not lead to the digest that it names');
}
