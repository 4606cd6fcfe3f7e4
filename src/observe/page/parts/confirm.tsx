import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Asks before something is done that cannot be taken back. Escape and "Cancel" leave everything as it is. */
export function Confirm({
  title,
  children,
  action,
  isDanger = false,
  onConfirm,
  onClose,
}: {
  title: string
  children: ComponentChildren
  action: string
  isDanger?: boolean
  onConfirm: () => void
  onClose: () => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} aria-labelledby="confirm-title" onClose={onClose}>
      <h2 id="confirm-title">{title}</h2>
      {children}
      <p class="actions">
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        <button
          type="button"
          class={isDanger ? 'danger' : 'primary'}
          onClick={() => {
            onConfirm()
            dialog.current?.close()
          }}
        >
          {action}
        </button>
      </p>
    </dialog>
  )
}
