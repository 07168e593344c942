import { expect, test } from 'vitest';
import { redacted, withoutSecrets } from '../../src/compose/debug/redact.ts';

const PLANTED = 'Zm9yZ2VkLXNlY3JldC1vZi1hLXRva2Vu';

test.each([`frt1_${PLANTED}`, `frt2_1780000000_${PLANTED}`, `frt17_x_${PLANTED}`, `fre1_0_1780000000__${PLANTED}`])(
  'the token %s is masked in a snapshot for a bug report, whatever names it',
  (token) => {
    const texts = [`agent said ${token} twice: ${token}`, `{"msg":"${token}"}`, `https://example.com/?a=${token}#b`];
    for (const text of texts) {
      expect(withoutSecrets(text)).not.toContain(PLANTED);
      expect(JSON.stringify(redacted({ note: text, list: [text] }))).not.toContain(PLANTED);
    }
    expect(withoutSecrets(`agent said ${token} twice`)).toBe('agent said [redacted] twice');
  },
);
