import type { Notification } from '../data/contract.ts'
import { inOneLine, webLink } from '../shown.ts'
import { Diff } from './diff.tsx'
import { Collapsed, Text } from './text.tsx'

/** A notification about as its reader gets it; all of it is text, also what the sink takes as markup. */
export function NotificationCard({ of }: { of: Notification }) {
  return (
    <figure class={`notification ${of.severity}`}>
      <figcaption>
        {of.severity}
        {of.target && (
          <>
            {' to '}
            <Text of={of.target} longest={120} />
          </>
        )}
      </figcaption>
      {of.title && (
        <p class="title">
          <Text of={of.title} />
        </p>
      )}
      {of.text && (
        <p class="body">
          <Text of={of.text} longest={1_500} />
        </p>
      )}
      {of.quote && (
        <blockquote>
          <Text of={of.quote} longest={1_500} />
        </blockquote>
      )}
      {of.changes.length > 0 && <Diff changes={of.changes} />}
      {of.fields.length > 0 && (
        <Collapsed
          in="dl"
          items={of.fields}
          of={({ title, value }, index) => (
            <div key={index}>
              <dt>
                <Text of={title} longest={80} />
              </dt>
              <dd>
                <Text of={value} />
              </dd>
            </div>
          )}
        />
      )}
      {of.command && (
        <pre>
          <Text of={of.command} longest={600} />
        </pre>
      )}
      {of.links.length > 0 && (
        <p>
          {of.links.map(({ title, url }, index) => {
            const href = webLink(url)
            return href ? (
              <a key={index} href={href} target="_blank" rel="noreferrer noopener">
                {inOneLine(title || url, 80)}
              </a>
            ) : (
              <Text key={index} of={`${title}: ${url}`} />
            )
          })}
        </p>
      )}
      {of.body !== undefined && (
        <details>
          <summary>What is sent</summary>
          <pre>
            <Text of={of.body} longest={4_000} />
          </pre>
        </details>
      )}
    </figure>
  )
}
