import { Link } from 'wouter-preact'
import { type Named, objectLink } from '../links.ts'
import { Text } from './text.tsx'

/** An object, as a link to its story. */
export function ObjectName({ of }: { of: Named }) {
  return (
    <Link href={objectLink(of)} class="object">
      <span class="kind">
        <Text of={of.kind} longest={60} />
      </span>{' '}
      <Text of={`${of.namespace ? `${of.namespace}/` : ''}${of.name}`} longest={140} />
    </Link>
  )
}
