import { useState } from 'preact/hooks'
import { keepToken, tokenWanted } from '../data/request.ts'
import { Mark } from './mark.tsx'
import { Heading } from './states.tsx'

/** Asks for the token once; the tab keeps it. */
export function TokenForm() {
  const [token, setToken] = useState('')
  const submit = (event: Event) => {
    event.preventDefault()
    if (token.trim()) keepToken(token)
  }
  return (
    <form class="token" onSubmit={submit}>
      <Heading title="Token" />
      {tokenWanted.value === 'wrong' && (
        <p role="alert">
          <Mark status="bad">The server does not accept this token.</Mark>
        </p>
      )}
      <p>
        This server wants one of the tokens of <code>server.tokens</code> in its configuration. It stays in
        this tab and is never part of an address.
      </p>
      <label>
        Token
        <input
          type="password"
          value={token}
          autocomplete="off"
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary">
        Continue
      </button>
    </form>
  )
}
