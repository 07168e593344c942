import {
  EVENT_ALIAS,
  EVENT_MAPPING,
  EVENT_SCALAR,
  EVENT_SEQUENCE,
  type parseEvents,
  SCALAR_STYLE_DOUBLE_QUOTED,
  SCALAR_STYLE_FOLDED_BLOCK,
  SCALAR_STYLE_LITERAL_BLOCK,
  SCALAR_STYLE_SINGLE_QUOTED,
} from 'js-yaml';
import type { FindingReason } from '../model/finding-codes.ts';
import type { JsonValue } from '../model/json.ts';

/** The flat events of js-yaml's parser; they refer to the text by offsets. */
export type YamlEvents = ReturnType<typeof parseEvents>;
export type YamlEvent = YamlEvents[number];

/** Something to say about a place of the text. */
export interface TextProblem {
  readonly severity: 'error' | 'warning';
  readonly reason: FindingReason;
  readonly message: string;
  readonly hint?: string;
  readonly offset: number;
}

/** One document as a value; aliases share what they stand for, so values are never to be changed. */
export interface YamlDocument {
  readonly value: JsonValue;
  /** Of the parse that the document came from. */
  readonly events: YamlEvents;
  /** Index of the event of the document's root node. */
  readonly root: number;
}

/** Where a node begins in the text, with its quote, tag or `|`; 0 for a node that nothing is written for. */
export function offsetOf(text: string, event: YamlEvent): number {
  switch (event.type) {
    case EVENT_SCALAR: {
      if (event.tagStart >= 0) return event.tagStart;
      const { style, valueStart } = event;
      if (valueStart < 0) return Math.max(0, event.anchorStart - 1);
      if (style === SCALAR_STYLE_SINGLE_QUOTED || style === SCALAR_STYLE_DOUBLE_QUOTED) return valueStart - 1;
      if (style === SCALAR_STYLE_LITERAL_BLOCK) return Math.max(0, text.lastIndexOf('|', valueStart));
      if (style === SCALAR_STYLE_FOLDED_BLOCK) return Math.max(0, text.lastIndexOf('>', valueStart));
      return valueStart;
    }
    case EVENT_SEQUENCE:
    case EVENT_MAPPING:
      return event.start;
    case EVENT_ALIAS:
      return Math.max(0, text.lastIndexOf('*', event.anchorStart));
    default:
      return 0;
  }
}
