import { type ConfigDocument, documentOf, problemAt } from '../config/document.ts'
import { sourceFile } from '../config/source-file.ts'
import { NO_VARS } from '../config/vars.ts'
import { parseYaml, tooMuch } from '../config/yaml/parse.ts'
import { syntaxFaults } from '../config/yaml/syntax.ts'
import { buildTree } from '../config/yaml/tree.ts'

/** A YAML file that knows where its values stand, and in which `${…}` is nothing but text. */
export function readRawDocument(name: string, text: string): ConfigDocument {
  const file = sourceFile(name, text)
  const parsed = tooMuch(text) ?? parseYaml(text)
  if (!('contents' in parsed)) {
    const { message, hint, start } = parsed
    const problems = [problemAt({ file, start, end: start + 1 }, message, { hint })]
    return documentOf(undefined, file, { readable: false, problems, broken: [] })
  }
  const readable = parsed.errors.length === 0
  const fill = (value: string) => ({ text: value, secrets: [], faults: [] })
  const { root, faults, broken } = buildTree(parsed, file, { fill, outer: NO_VARS })
  const found = [
    ...syntaxFaults(parsed, text).map((fault) => ({ file, ...fault })),
    ...(readable ? faults : []),
  ]
  const problems = found.map((fault) => problemAt(fault, fault.message, fault))
  return documentOf(root, file, { readable, problems, broken })
}
