import { create } from '@bufbuild/protobuf';
import { expect, it, vi } from 'vitest';
import { OutputHeadSchema } from '../../../generated/relay_pb.ts';
import { acceptDelta, EMPTY_INVENTORY } from '../../../src/agent/reconciler/inventory.ts';
import type { SequencedDelta } from '../../../src/model/fleet/output.ts';
import { DEFAULT_LIMITS } from '../../../src/relay/limits.ts';
import { packChunks, unpackChunk } from '../../../src/relay/transfer.ts';
import { createOutputAssembler, outputHead, outputRecords } from '../../../src/relay/wire/output.ts';
import { deltaOf, FLEET } from '../../support/relay-world.ts';

/** The delta as an agent reads it from the wire. */
function received(delta: SequencedDelta): SequencedDelta {
  let read: SequencedDelta | undefined;
  const head = create(OutputHeadSchema, outputHead(delta).value);
  const assembler = createOutputAssembler(head, DEFAULT_LIMITS, (done) => {
    read = done;
  });
  for (const chunk of packChunks(outputRecords(delta, DEFAULT_LIMITS.objectBytes))) {
    for (const record of unpackChunk(chunk).records) assembler.take(record);
  }
  assembler.finish();
  if (read === undefined) throw new Error('the delta was not read');
  return read;
}

it('a large delta is accepted without parsing a content again', () => {
  const outputs = new Map(Array.from({ length: 30 }, (_, number) => [`large-${number}`, 'x'.repeat(100_000)]));
  const delta = received(deltaOf(new Map(), outputs, { epoch: 1, sequence: 1 }));
  const parse = vi.spyOn(JSON, 'parse');
  try {
    expect(acceptDelta(EMPTY_INVENTORY, delta, FLEET, () => 'nonce')).toMatchObject({ accepted: true });
    expect(parse).not.toHaveBeenCalled();
  } finally {
    parse.mockRestore();
  }
});
