import type { InputDelta } from '../model/agent.ts';
import { quote } from '../model/ids.ts';
import { createHeldInput, type HeldInput } from './held-input.ts';
import type { Greeted, PullStream } from './server-state.ts';
import { endOfAdmission, welcomeFrame } from './server-welcome.ts';
import { createTransferReceiver } from './transfer-receiver.ts';
import { createTransferSender, type TransferSender } from './transfer-sender.ts';
import type { Frame } from './wire/frame.ts';
import { createInputAssembler, heldInputRecords } from './wire/input.ts';
import { ProtocolError } from './wire/protocol-error.ts';

/**
 * Judges and welcomes a Push stream. It belongs to the Pull stream of the same agent instance: without one it is told to
 * come again, and it ends with it. So nothing enters from an agent whose inventory is not known.
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
  const admission = state.listener.admit(hello, greeted.certificate);
  if (admission.type !== 'admitted') return link.end(endOfAdmission(admission));
  slot.push?.end({ code: 'unavailable', reason: 'Superseded', message: 'a newer Push stream has taken its place' });
  startPush(greeted, pull);
}

function startPush(greeted: Greeted, pull: PullStream): void {
  const { state, slot, link, peerLimits } = greeted;
  slot.push = link;
  void link.over.then(() => {
    if (slot.push === link) slot.push = undefined;
  });
  void pull.link.over.then(({ reason, message }) => link.end({ code: 'unavailable', reason, message }));
  const held = createHeldInput(state.listener.heldInput(slot.cluster));
  const sender = createTransferSender({ link, clock: state.deps.clock, limits: state.limits });
  sender.setWindow(peerLimits.window);
  greeted.onFrame(createPushReader(greeted, sender, held));
  link.post(welcomeFrame(greeted, held.digest()));
}

function createPushReader(greeted: Greeted, sender: TransferSender, held: HeldInput): (frame: Frame) => void {
  const { state, slot, link } = greeted;
  let listed = false;
  const receiver = createTransferReceiver({ link, limits: state.limits }, (subject, transfer) => {
    if (subject.case !== 'input') throw new ProtocolError('OutOfTurn', `a transfer of "${subject.case}" on Push`);
    return createInputAssembler(subject.value, state.limits, (delta) => {
      applyInput(held, delta);
      state.counts.inputDeltas += 1;
      state.listener.input(slot.cluster, delta);
      link.post({ case: 'verdict', value: { transfer, accepted: true } });
    });
  });
  return (frame) => {
    switch (frame.case) {
      case 'begin':
        return receiver.begin(frame.value);
      case 'chunk':
        return receiver.chunk(frame.value);
      case 'chunkAck':
        return sender.acknowledged(frame.value);
      case 'heldInputRequest':
        if (listed) throw new ProtocolError('OutOfTurn', 'the list of held input was asked for twice');
        listed = true;
        void sender.send({ case: 'heldInput', value: {} }, heldInputRecords([...held.entries()]));
        return;
      default:
        throw new ProtocolError('OutOfTurn', `a frame "${frame.case}" on an open Push stream`);
    }
  };
}

/** Takes a step of the input snapshot, in place; if it does not fit, the stream ends. */
function applyInput(held: HeldInput, delta: InputDelta): void {
  if (delta.from !== held.digest()) {
    const message = `the delta starts from ${delta.from}, held is ${held.digest()}`;
    throw new ProtocolError('DifferentBase', message, 'unavailable');
  }
  for (const key of delta.removals) {
    if (held.get(key) === undefined)
      throw new ProtocolError('UnknownKey', `a removal of ${quote(key)}, which is not held`);
  }
  if (held.digestAfter(delta) !== delta.to) {
    throw new ProtocolError('DigestMismatch', 'the delta does not lead to the digest that it names');
  }
  held.take(delta);
}
