import { describe, expect, it } from 'vitest';
import { diagnosticOf, findings } from '../../../src/model/diagnostic.ts';

describe('the codes of findings', () => {
  const codes = Object.values(findings).map(({ code }) => code);

  it('stand for one reason each, in a range that is documented', () => {
    expect(new Set(codes).size).toBe(codes.length);
    for (const code of codes) expect(code).toMatch(/^FR[1-4]\d{3}$/);
    expect(codes).toEqual(codes.toSorted());
  });

  it('have a sentence that says what they mean', () => {
    for (const { meaning } of Object.values(findings)) expect(meaning).toMatch(/^[A-Z].+\.$/);
  });

  // A code that has been given is never given to another reason: change a line here only by adding one.
  it('stay what they are', () => {
    expect(Object.entries(findings).map(([reason, { code }]) => `${code} ${reason}`)).toMatchInlineSnapshot(`
      [
        "FR1001 FileUnreadable",
        "FR1002 FileTooLarge",
        "FR1003 NotUtf8",
        "FR1004 ControlCharacter",
        "FR1005 SymbolicLink",
        "FR1006 SymbolicLinkIgnored",
        "FR1007 SubmoduleIgnored",
        "FR1008 IgnoreFile",
        "FR1009 DecoderFailed",
        "FR1010 YamlSyntax",
        "FR1011 JsonSyntax",
        "FR1012 YamlVersion",
        "FR1013 YamlVersionsDiffer",
        "FR1014 DuplicateKey",
        "FR1015 KeyNotText",
        "FR1016 MergeKey",
        "FR1017 ForbiddenKey",
        "FR1018 UnknownTag",
        "FR1019 BadAlias",
        "FR1020 NumberNotFinite",
        "FR1021 NumberTooLarge",
        "FR1022 TooDeep",
        "FR1023 TooManyAliases",
        "FR1024 TooManyValues",
        "FR1025 TooManyDocuments",
        "FR1026 PathTooLong",
        "FR2001 NotAnObject",
        "FR2002 MissingField",
        "FR2003 UnknownField",
        "FR2004 WrongType",
        "FR2005 WrongValue",
        "FR2006 WrongChoice",
        "FR2007 UnknownKind",
        "FR2008 UnknownVersion",
        "FR2009 ServerConfigInRepository",
        "FR2010 BadIdentity",
        "FR2011 GeneratedName",
        "FR2012 BadName",
        "FR2013 BadLabel",
        "FR2014 BadAnnotation",
        "FR2015 BadSelector",
        "FR2016 BadPath",
        "FR2017 BadAddress",
        "FR2018 BadBranch",
        "FR2019 BadDigest",
        "FR2020 BadTime",
        "FR2021 ServerField",
        "FR2022 PolicyNotTaken",
        "FR2023 PolicyTooLarge",
        "FR2024 GatewayWithInbounds",
        "FR2025 DuplicateName",
        "FR2026 UnknownSource",
        "FR2027 NoConfig",
        "FR2028 SeveralDocuments",
        "FR3001 DeclaredTwice",
        "FR3002 NameCollision",
        "FR3003 UnknownCluster",
        "FR3004 GoesNowhere",
        "FR3005 LastKnownGood",
        "FR3006 PolicyBounded",
        "FR3007 ApprovalUsed",
        "FR3008 ApprovalStale",
        "FR3009 ApprovalExpired",
        "FR3010 Failed",
        "FR4001 UnreadableLiveFile",
        "FR4002 SkippedLiveFile",
        "FR4003 DuplicateLiveObject",
        "FR4004 KindNotFollowed",
      ]
    `);
  });
});

describe('a diagnostic', () => {
  it('has the code of its reason', () => {
    expect(diagnosticOf({ severity: 'error', reason: 'MissingField', message: 'spec is missing' })).toEqual({
      severity: 'error',
      code: 'FR2002',
      reason: 'MissingField',
      message: 'spec is missing',
    });
  });
});
