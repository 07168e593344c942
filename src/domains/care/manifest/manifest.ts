import { validate } from '../../../../generated/shoot.js';
import type { DomainManifest } from '../../../manifest/kinds/decoders.ts';
import { checkForeign } from '../../../manifest/kinds/reading.ts';
import { readCare } from './settings.ts';

/** What documents say of Shoots and their care. */
export const careManifest: DomainManifest = {
  decoders: {
    Shoot: (document) => {
      const { problems, value } = checkForeign(document, validate);
      return value === undefined ? { problems } : { problems, metadata: value.metadata, value: document };
    },
  },
  policy: { care: readCare },
};
