import { styleText } from 'node:util';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, parseJson, textOf } from '../../model/text/json.ts';
import { printable } from '../../model/text/printable.ts';

const COLOURS = { debug: 'dim', info: 'green', warn: 'yellow', error: 'red' } as const;

/**
 * Makes lines of text for a person of the JSON lines of a log: the time of this machine, the level, the message and the data as
 * `name=value`. What is no JSON is written as it is. `colour`: the terminal shows colours.
 */
export function textLines(write: (text: string) => void, { colour }: { readonly colour: boolean }) {
  return (line: string): void => {
    const parsed = parseJson(line) as JsonValue | undefined;
    write(parsed === undefined || !isJsonObject(parsed) ? line : `${textOfLine(parsed, colour)}\n`);
  };
}

function textOfLine({ level, time, message, ...data }: JsonObject, colour: boolean): string {
  const style = COLOURS[textOf(level) as keyof typeof COLOURS] ?? 'reset';
  const word = textOf(level).padEnd(5);
  const at = new Date(textOf(time)).toTimeString().slice(0, 8);
  const shown = colour ? styleText(style, word, { validateStream: false }) : word;
  const pairs = Object.entries(data).map(([name, value]) => ` ${name}=${valueText(name, value)}`);
  return `${at} ${shown} ${printable(textOf(message))}${printable(pairs.join(''))}`;
}

/** Of an error only its message: a stack is for the JSON log. */
function valueText(name: string, value: JsonValue = null): string {
  const said = name === 'error' ? (objectOf(value).message ?? value) : value;
  return typeof said === 'string' && /^[^\s"=]+$/.test(said) ? said : JSON.stringify(said);
}
