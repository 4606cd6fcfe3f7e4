import { useState } from 'preact/hooks'
import { splitPatterns } from '../../../text/split-patterns.ts'
import { type RequestError, send } from '../data/request.ts'
import { announce } from '../data/state.ts'
import { Mark } from '../parts/mark.tsx'

const CONDITIONS = ['namespace', 'name', 'kind', 'rule', 'sink', 'reason', 'type'] as const
const TIMES: [label: string, minutes: number][] = [
  ['30 minutes', 30],
  ['1 hour', 60],
  ['2 hours', 120],
  ['8 hours', 480],
  ['1 day', 1_440],
  ['1 week', 10_080],
]

/** Adds a silence. The server checks it by the rules of the configuration, and its answer names what is wrong. */
export function SilenceForm({ onAdded }: { onAdded: () => void }) {
  const [values, setValues] = useState<Record<string, string>>({})
  const [minutes, setMinutes] = useState(60)
  const [reason, setReason] = useState('')
  const [error, setError] = useState<RequestError | undefined>(undefined)

  const match = Object.fromEntries(
    Object.entries(values).flatMap(([key, text]) => (text.trim() ? [[key, matcher(text)]] : [])),
  )
  const add = async (event: Event) => {
    event.preventDefault()
    try {
      await send('POST', '/silences', {
        match,
        untilMs: Date.now() + minutes * 60_000,
        reason: reason.trim(),
      })
      announce('The silence is in force.')
      setValues({})
      setReason('')
      setError(undefined)
      onAdded()
    } catch (error) {
      setError(error as RequestError)
    }
  }
  return (
    <form class="silence-form" onSubmit={(event) => void add(event)}>
      <h2>Add a silence</h2>
      <p class="note">
        All conditions that are filled in must hold, as in rules: exact text, a pattern such as{' '}
        <code>pay-*</code>, several with a comma.
      </p>
      <div class="filters">
        {CONDITIONS.map((name) => (
          <label key={name}>
            {name}
            <input
              value={values[name] ?? ''}
              placeholder="any"
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
            />
          </label>
        ))}
        <label>
          for
          <select value={minutes} onChange={(event) => setMinutes(Number(event.currentTarget.value))}>
            {TIMES.map(([label, value]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="grow">
          why
          <input
            required
            maxLength={500}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={Object.keys(match).length === 0}>
          Silence
        </button>
      </div>
      {error && (
        <p role="alert">
          <Mark status="bad">{error.message}</Mark> {error.detail}
        </p>
      )}
    </form>
  )
}

function matcher(text: string): string | string[] {
  const parts = splitPatterns(text, ',').filter(Boolean)
  return parts.length === 1 ? (parts[0] ?? '') : parts
}
