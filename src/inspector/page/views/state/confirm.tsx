import { type ComponentChildren, render } from 'preact'

/** Asks before an action in a dialog. @param what label of the button for the action, such as `Restore` */
export function confirm(text: ComponentChildren, what: string): Promise<boolean> {
  const place = document.body.appendChild(document.createElement('div'))
  return new Promise((resolve) => {
    const close = ({ currentTarget }: { readonly currentTarget: HTMLDialogElement }) => {
      resolve(currentTarget.returnValue === what)
      render(null, place)
      place.remove()
    }
    const dialog = (
      <dialog aria-labelledby="confirm" onClose={close} ref={(it) => it?.showModal()}>
        <form method="dialog">
          <div id="confirm">{text}</div>
          <p class="actions">
            <button class="primary" value={what}>
              {what}
            </button>
            <button value="">Cancel</button>
          </p>
        </form>
      </dialog>
    )
    render(dialog, place)
  })
}
