import type { TagToken } from 'liquidjs'
import { type Checking, spanOf } from './checking.ts'
import type { TemplateProblem } from './fault.ts'

/** Tags that need an end. */
export const ENDS = ['if', 'unless', 'case', 'for', 'capture', 'comment', 'raw']
/** Tags that stand inside of others. */
export const MIDDLES: Readonly<Record<string, readonly string[]>> = {
  else: ['if', 'unless', 'case', 'for'],
  elsif: ['if', 'unless'],
  when: ['case'],
}
/** Each block ends, and ends what was begun last. */
export function checkBlocks(at: Checking, tags: readonly TagToken[]): void {
  const open: TagToken[] = []
  const spanIn = ({ contentRange: [begin], name }: TagToken) => spanOf({ begin, end: begin + name.length })
  for (const tag of tags) {
    const last = open.at(-1)
    const owners = Object.hasOwn(MIDDLES, tag.name) ? MIDDLES[tag.name] : undefined
    if (ENDS.includes(tag.name)) open.push(tag)
    else if (owners && !owners.includes(last?.name ?? ''))
      at.report({ ...spanIn(tag), message: `"${tag.name}" stands in no ${owners.join(' or ')}` })
    else if (tag.name.startsWith('end') && ENDS.includes(tag.name.slice(3))) {
      const from = open.findLastIndex(({ name }) => name === tag.name.slice(3))
      if (from === -1) {
        const hint = last && `write {% end${last.name} %}`
        at.report({
          ...spanIn(tag),
          message: `there is no "${tag.name.slice(3)}" that this could end`,
          ...(hint && { hint }),
        })
        if (last) open.pop()
        continue
      }
      for (const inner of open.splice(from).slice(1)) at.report(neverEnded(inner, spanIn))
    }
  }
  for (const tag of open) at.report(neverEnded(tag, spanIn))
}

function neverEnded(
  tag: TagToken,
  spanIn: (tag: TagToken) => { offset: number; length: number },
): TemplateProblem {
  return { ...spanIn(tag), message: `"${tag.name}" is never ended`, hint: `write {% end${tag.name} %}` }
}
