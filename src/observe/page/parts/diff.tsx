import { Collapsed, Text } from './text.tsx'

interface Change {
  path: string
  old?: unknown
  new?: unknown
}

const LONGEST = 400

/** Fields that changed, with the value before and after. */
export function Diff({ changes }: { changes: readonly Change[] }) {
  return (
    <Collapsed
      in="ul"
      class="diff"
      items={changes}
      of={(change, index) => (
        <li key={index}>
          <code class="path">
            <Text of={change.path} />
          </code>
          {'old' in change && change.old !== undefined && (
            <span class="old">
              <span class="sign" aria-hidden="true">
                −
              </span>
              <span class="unseen">before: </span>
              <Text of={valueText(change.old)} longest={LONGEST} />
            </span>
          )}
          {'new' in change && change.new !== undefined ? (
            <span class="new">
              <span class="sign" aria-hidden="true">
                +
              </span>
              <span class="unseen">after: </span>
              <Text of={valueText(change.new)} longest={LONGEST} />
            </span>
          ) : (
            <span class="none">removed</span>
          )}
        </li>
      )}
    />
  )
}

export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
