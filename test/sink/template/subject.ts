import { type CompiledTemplate, compileTemplate, type TemplateOptions } from '../../../src/sink/index.ts'
import { type MessageParts, messageOf } from '../../sinks/bed.ts'

export const NOW = Date.parse('2026-11-21T12:00:00Z')

/** A pod with labels that a tenant may give it. */
export const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web',
    namespace: 'shop',
    labels: { team: '<!channel>', 'app.kubernetes.io/name': 'web' },
    ownerReferences: [
      { kind: 'Node', name: 'other' },
      { kind: 'ReplicaSet', name: 'web-5d4f', controller: true },
    ],
  },
  spec: {
    nodeName: 'node-1',
    containers: [{ name: 'a', restarts: 2 }, { name: 'b' }],
    priority: 0,
    flag: false,
  },
}

export const markup = {
  escape: (text: string) => text.replaceAll('<', '&lt;'),
  code: (text: string) => `\`${text.replaceAll('<', '&lt;')}\``,
}

export function subjectOf(parts: MessageParts = {}) {
  return messageOf({
    object: POD,
    event: { kind: 'Pod', namespace: 'shop', apiVersion: 'v1', cluster: 'prod' },
    ...parts,
  })
}

/** Renders a template; throws when it does not compile. */
export function rendered(
  source: string,
  options: TemplateOptions = markup,
  parts: MessageParts = {},
): string {
  const compiled = compileTemplate(source, { clock: { now: () => NOW }, ...options })
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems))
  return compiled.template.render(subjectOf(parts))
}

/** Each problem as `[the text that is wrong] message = hint`. */
export function problemsIn(source: string, compiled: CompiledTemplate = compileTemplate(source)): string[] {
  if (compiled.ok) return []
  return compiled.problems.map(
    ({ message, offset, length, hint }) =>
      `[${source.slice(offset, offset + length)}] ${message}${hint === undefined ? '' : ` = ${hint}`}`,
  )
}
