import * as yaml from 'js-yaml';

/** The offset at which a node begins, with its quote, tag or `|`; 0 for a node without text. */
export function offsetOf(text: string, event: yaml.Event): number {
  switch (event.type) {
    case yaml.EVENT_SCALAR: {
      if (event.tagStart >= 0) return event.tagStart;
      const { style, valueStart } = event;
      if (valueStart < 0) return Math.max(0, event.anchorStart - 1);
      if (style === yaml.SCALAR_STYLE_SINGLE_QUOTED || style === yaml.SCALAR_STYLE_DOUBLE_QUOTED) return valueStart - 1;
      if (style === yaml.SCALAR_STYLE_LITERAL_BLOCK) return Math.max(0, text.lastIndexOf('|', valueStart));
      if (style === yaml.SCALAR_STYLE_FOLDED_BLOCK) return Math.max(0, text.lastIndexOf('>', valueStart));
      return valueStart;
    }
    case yaml.EVENT_SEQUENCE:
    case yaml.EVENT_MAPPING:
      return event.start;
    case yaml.EVENT_ALIAS:
      return Math.max(0, text.lastIndexOf('*', event.anchorStart));
    default:
      return 0;
  }
}

/** The text of a scalar as it is written, without its quotes; empty if the scalar has no text. */
export function scalarText(text: string, event: yaml.ScalarEvent): string {
  return event.valueStart < 0 ? '' : yaml.getScalarValue(text, event);
}
