import type { FleetName } from '../../model/ids.ts';
import type { StatusNote } from './status-types.ts';

const MAX_LINE_LENGTH = 200;

/** One line, then trailers that programs can read. The same note gives the same bytes. */
export function commitMessage(fleet: FleetName, note: StatusNote): string {
  const trailers = [['Fleetrelay-Fleet', fleet] as const, ...(note.trailers ?? [])];
  const lines = trailers.map(([name, value]) => `${name.replace(/[^A-Za-z0-9-]/g, '-')}: ${oneLine(value)}`);
  return `${oneLine(note.summary) || 'Status'}\n\n${lines.join('\n')}\n`;
}

function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line end would forge a trailer.
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  return line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH - 3)}...` : line;
}
