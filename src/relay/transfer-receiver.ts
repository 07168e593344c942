import type { Begin, Chunk } from '../../generated/relay_pb.ts';
import type { RelayLimits } from './limits.ts';
import type { Link } from './link.ts';
import type { Assembler } from './wire/assembly.ts';
import { unpackChunk } from './wire/chunks.ts';
import { ProtocolError } from './wire/protocol-error.ts';
import { readCount } from './wire/scalars.ts';

/** The subject of a transfer as it is read. */
export type ReadSubject = Exclude<Begin['subject'], { case: undefined }>;

/** Reads the transfers of one direction of a link. Both methods throw a {@link ProtocolError}. */
export interface TransferReceiver {
  begin(begin: Begin): void;
  chunk(chunk: Chunk): void;
}

/**
 * A receiver; `open` gives the assembler for a subject, or throws if it has no place now. Every chunk is acknowledged
 * after its records are read; the last one before the transfer is finished.
 */
export function createTransferReceiver(
  deps: { readonly link: Link; readonly limits: RelayLimits },
  open: (subject: ReadSubject, transfer: bigint) => Assembler,
): TransferReceiver {
  const { link, limits } = deps;
  let last = 0n;
  let current: { readonly assembler: Assembler; chunks: number; bytes: number; records: number } | undefined;
  return {
    begin({ transfer, subject }) {
      readCount(transfer, 'the number of a transfer');
      if (current !== undefined) throw new ProtocolError('OutOfTurn', 'a transfer begins inside another');
      if (transfer !== last + 1n) throw new ProtocolError('OutOfTurn', `transfer ${transfer} after ${last}`);
      if (subject.case === undefined) throw new ProtocolError('MalformedFrame', 'a transfer of nothing known');
      last = transfer;
      current = { assembler: open(subject, transfer), chunks: 0, bytes: 0, records: 0 };
    },
    chunk(chunk) {
      if (current === undefined || chunk.transfer !== last) {
        throw new ProtocolError('OutOfTurn', `a chunk of transfer ${chunk.transfer}, which is not under way`);
      }
      if (chunk.index !== current.chunks) {
        throw new ProtocolError('OutOfTurn', `chunk ${chunk.index} where ${current.chunks} was due`);
      }
      const { bytes, records } = unpackChunk(chunk);
      current.chunks += 1;
      current.bytes += bytes;
      current.records += records.length;
      checkSize(current, limits);
      for (const record of records) current.assembler.take(record);
      link.post({ case: 'chunkAck', value: { transfer: last, received: current.chunks } });
      if (!chunk.last) return;
      const { assembler } = current;
      current = undefined;
      assembler.finish();
    },
  };
}

function checkSize(size: { readonly bytes: number; readonly records: number }, limits: RelayLimits): void {
  if (size.bytes > limits.transferBytes) {
    const message = `a transfer of more than ${limits.transferBytes} bytes`;
    throw new ProtocolError('TransferTooLarge', message, 'exhausted');
  }
  if (size.records > limits.transferRecords) {
    const message = `a transfer of more than ${limits.transferRecords} records`;
    throw new ProtocolError('TransferTooLarge', message, 'exhausted');
  }
}
