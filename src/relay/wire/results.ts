import type { ObjectResult } from '../../model/agent.ts';
import { type Assembler, misplaced } from './assembly.ts';
import type { RecordInit } from './chunks.ts';
import {
  clipText,
  digestBytes,
  readDigest,
  readKey,
  readReason,
  readText,
  readWord,
  sendableReason,
} from './scalars.ts';

const STATES = ['applied', 'failed', 'conflict', 'paused', 'removing', 'removed'] as const;
const HEALTH_STATES = ['current', 'inProgress', 'failed', 'terminating', 'unknown'] as const;

/** The head of a batch of results. */
export function resultsHead() {
  return { case: 'results' as const, value: {} };
}

/** The records of a batch of results. */
export function* resultRecords(results: readonly ObjectResult[]): Generator<RecordInit, void, void> {
  for (const { key, digest, state, reason, message, health } of results) {
    const value = {
      key,
      digest: digestBytes(digest),
      state,
      reason: sendableReason(reason),
      message: clipText(message),
      ...(health === undefined ? {} : { health: health.state, healthMessage: clipText(health.message) }),
    };
    yield { case: 'result', value };
  }
}

/** Reads a batch of results. */
export function createResultsAssembler(done: (results: ObjectResult[]) => void): Assembler {
  const results: ObjectResult[] = [];
  return {
    take(record) {
      if (record.case !== 'result') misplaced(record, 'results');
      const { key, digest, state, reason, message, health, healthMessage } = record.value;
      results.push({
        key: readKey(key),
        digest: readDigest(digest),
        state: readWord(state, STATES),
        reason: readReason(reason),
        message: readText(message),
        ...(health === ''
          ? {}
          : { health: { state: readWord(health, HEALTH_STATES), message: readText(healthMessage) } }),
      });
    },
    finish() {
      done(results);
    },
  };
}
