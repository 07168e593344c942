import { decoders } from '../../domains/decoders.ts';
import { checkDocuments } from '../../manifest/decode-file.ts';
import { defaultDecodeLimits } from '../../manifest/limits.ts';
import { type FileFinding, inOrder, readFile } from '../../manifest/read-file.ts';
import { type Diagnostic, diagnosticOf, displayLocation } from '../../model/fleet/diagnostic.ts';
import { given } from '../../model/values/given.ts';
import type { DocumentsRequest, FoundDocuments } from '../documents.ts';
import { createBytesReader } from './file-bytes.ts';
import { bytesOf, listInputs } from './inputs.ts';

const OPTIONS = { decoders, limits: defaultDecodeLimits, fixes: false };

/** Finds documents in files and folders, which are found and read as `validate` does. */
export async function findDocuments({ isWanted, ...request }: DocumentsRequest): Promise<FoundDocuments> {
  const read = createBytesReader();
  const { files, refused, failed } = await listInputs(request, read);
  const diagnostics: Diagnostic[] = [...refused, ...failed];
  const documents: FoundDocuments['documents'][number][] = [];
  for (const input of files) {
    const { name: path } = input;
    const content = bytesOf(input, read);
    if (!content.ok) {
      const reason = content.isTooLarge ? 'FileTooLarge' : 'FileUnreadable';
      diagnostics.push(diagnosticOf({ severity: 'error', reason, message: content.reason, at: { path } }));
      continue;
    }
    const file = readFile(path, content.bytes, defaultDecodeLimits);
    const findings: FileFinding[] = [...file.findings];
    for (const { document, path: field, value } of checkDocuments(file, OPTIONS, findings)) {
      if (!isWanted(value)) continue;
      const { line } = file.locate(document, field, 'value');
      documents.push({ value, at: displayLocation({ path, ...given({ line }) }) });
    }
    diagnostics.push(...inOrder(findings).filter(({ severity }) => severity === 'error'));
  }
  return { documents, diagnostics };
}
