import { isJsonObject, type JsonValue, objectOf } from '../../model/text/json.ts';

/** True if a record has the expected shape; otherwise it is damaged. */
export type Shape = (json: JsonValue | undefined) => boolean;

export const isText: Shape = (json) => typeof json === 'string';
export const isFlag: Shape = (json) => typeof json === 'boolean';
export const isTime: Shape = (json) => typeof json === 'number' && json >= 0;

/** An object with these members; others may be there too. */
export function fields(shapes: Readonly<Record<string, Shape>>): Shape {
  return (json) => {
    const object = objectOf(json);
    return Object.entries(shapes).every(([name, shape]) => shape(object[name]));
  };
}

/** An object whose values have this shape. */
export function mapOf(shape: Shape): Shape {
  return (json) => isJsonObject(json) && Object.values(json).every(shape);
}

export function listOf(shape: Shape): Shape {
  return (json) => Array.isArray(json) && json.every(shape);
}
