import { validate } from '../../../generated/shoot.js';
import type { JsonObject } from '../../model/json.ts';
import { check, type DocumentReading, declare, identityOf, withUnknownFieldsIgnored } from './reading.ts';

/** Reads a Gardener `core.gardener.cloud/v1beta1 Shoot`; fields that later versions add are warned of and ignored. */
export function readShoot(document: JsonObject): DocumentReading {
  const { problems, value } = withUnknownFieldsIgnored(document, (candidate) => check(candidate, validate));
  if (value === undefined) return { problems };
  const { metadata } = value;
  return { identity: identityOf('Shoot', metadata), problems, content: declare('Shoot', metadata, document) };
}
