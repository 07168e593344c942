import { EVENT_SCALAR, parseEvents } from 'js-yaml';
import type { YamlEvents } from './compose-documents.ts';
import { scanLines } from './line-scan.ts';

/**
 * Parses YAML into events, whose offsets refer to the text. A text that the parser refuses is tried again with its flow
 * collections and quoted scalars on one line each, where kubectl asks for no indentation.
 *
 * @throws YAMLException for the text as it stands; another error for a defect of the parser
 */
export function parseYamlEvents(text: string, maxDepth: number): YamlEvents {
  try {
    return parseEvents(text, { maxDepth });
  } catch (error) {
    const events = tooDeep(error) ? undefined : parseFlat(text, maxDepth);
    if (events === undefined) throw error;
    return events;
  }
}

function tooDeep(error: unknown): boolean {
  return error instanceof Error && error.message.includes('maxDepth');
}

function parseFlat(text: string, maxDepth: number): YamlEvents | undefined {
  const { flat } = scanLines(text);
  if (flat === undefined || flat === text) return undefined;
  try {
    return parseEvents(flat, { maxDepth }).map((event) =>
      // The lines of the scalar are joined when its value is taken from the text.
      event.type === EVENT_SCALAR && event.fast && text.slice(event.valueStart, event.valueEnd).includes('\n')
        ? { ...event, fast: false }
        : event,
    );
  } catch {
    return undefined;
  }
}
