"""Run by `npm test` against real processes with two hosts, host-1 and host-2.

BERTH_TEST_URL is a tenant's, BERTH_TEST_OTHER_URL another one's, BERTH_TEST_OPERATOR_URL an operator's.
"""

import os
import threading
import time
import unittest
import uuid

from berth.conductor.v1 import conductor_pb2 as conductor
from berth.scheduler.v1 import scheduler_pb2 as scheduler
from berth_client import STATES, BerthError, Client, NotSettled, Refused


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.client = Client(os.environ["BERTH_TEST_URL"])
        self.addCleanup(self.client.close)

    def test_builds_waits_lists_and_terminates(self):
        events = self.client.build_and_wait({"VCPU": 1, "MEMORY_MB": 64}, count=2, name="py", timeout=30)
        uuids = [event.instance_uuid for event in events]
        self.assertEqual([(event.name, event.state) for event in events], [("py-1", "ACTIVE"), ("py-2", "ACTIVE")])
        self.assertIn("SHELVED_OFFLOADED", STATES)
        self.assertLessEqual(set(uuids), {instance.uuid for instance in self.client.instances(state="ACTIVE")})
        self.assertEqual(self.client.instance(uuids[0]).name, "py-1")
        self.assertEqual(len(list(self.client.instances(most=1, request_id=events[0].request_id))), 1)
        self.assertEqual(self.client.wait(uuids[0], timeout=30).instance_uuid, uuids[0])
        for one in uuids:
            self.client.terminate(one, wait=True, timeout=30)
        self.assertFalse(set(uuids) & {instance.uuid for instance in self.client.instances(state="ACTIVE")})

    def test_builds_a_gang_or_none_of_it(self):
        events = self.client.build_and_wait({"VCPU": 1, "MEMORY_MB": 64}, count=2, min_count=2, timeout=30)
        for event in events:
            self.assertEqual(self.client.wait(event.instance_uuid, timeout=30).fault.reason, "")
            self.client.terminate(event.instance_uuid, wait=True, timeout=30)
        events = self.client.build_and_wait({"VCPU": 100_000}, count=2, min_count=1, timeout=30)
        self.assertEqual([event.fault.reason for event in events], ["no_valid_host", "no_valid_host"])
        with self.assertRaises(Refused):
            self.client.build_and_wait({"VCPU": 1}, count=1, min_count=2, timeout=30)

    def test_refuses_numbers_that_fields_can_not_hold(self):
        for field, options in (
            ("count", {"count": 2**32 + 1, "instance_uuids": [str(uuid.uuid4())]}),
            ("priority", {"admission": {"priority": 2**31}}),
            ("resources", {"resources": {"VCPU": 2**63}}),
        ):
            with self.assertRaises(BerthError) as refused:
                self.client.build(**{"resources": {"VCPU": 1}, **options})
            self.assertEqual(refused.exception.reason, "bad_number")
            self.assertIn(field, str(refused.exception))

    def test_waits_for_capacity_when_told_to(self):
        build = self.client.build({"VCPU": 100_000}, admission={"wait_for_capacity_ms": 60_000, "priority": 0})
        (one,) = build.instance_uuids
        pending = self.client.wait(one, ("PENDING", "ERROR"), timeout=30)
        self.assertEqual(pending.state, "PENDING")
        self.client.terminate(one, wait=True, timeout=30)

    def test_sends_a_request_again_and_builds_once(self):
        again = {"request_id": str(uuid.uuid4()), "instance_uuids": [str(uuid.uuid4())], "published_at_ms": time.time_ns() // 1_000_000}
        for _ in range(2):
            (event,) = self.client.build_and_wait({"VCPU": 1}, timeout=30, **again)
            self.assertEqual(event.instance_uuid, again["instance_uuids"][0])
        self.assertEqual(len(list(self.client.instances(request_id=again["request_id"]))), 1)
        self.client.terminate(event.instance_uuid, wait=True, timeout=30)

    def operate(self, client, one, operation, expected, **options):
        # An earlier move may still be finishing, without an event.
        while client.instance(one).HasField("migration") and operation not in ("confirm", "revert"):
            time.sleep(0.05)
        done = client.operate_and_wait(one, operation, timeout=60, **options)
        self.assertEqual(done.state, expected)
        return done

    def test_stops_starts_shelves_and_unshelves(self):
        (event,) = self.client.build_and_wait({"VCPU": 1}, timeout=30)
        one = event.instance_uuid
        for operation, expected in (("stop", "STOPPED"), ("start", "ACTIVE")) * 2:
            self.assertEqual(self.operate(self.client, one, operation, expected).host, event.host)
        self.operate(self.client, one, "shelve", "SHELVED_OFFLOADED")
        self.operate(self.client, one, "unshelve", "ACTIVE")
        # Earlier states don't count: wait looks at the present one.
        with self.assertRaises(NotSettled):
            self.client.wait(one, ("STOPPED",), timeout=1)
        self.client.terminate(one, wait=True, timeout=30)

    def test_resizes_confirms_and_reverts(self):
        (event,) = self.client.build_and_wait({"VCPU": 1, "MEMORY_MB": 64}, timeout=30)
        one = event.instance_uuid
        for vcpus, end in ((2, "confirm"), (3, "revert")):
            larger = {"resources": {"VCPU": vcpus, "MEMORY_MB": 64}}
            self.operate(self.client, one, "resize", "VERIFY_RESIZE", resize_to=larger)
            self.assertEqual(self.client.instance(one).request_spec.resources["VCPU"], vcpus)
            self.operate(self.client, one, end, "ACTIVE")
            self.assertEqual(self.client.instance(one).request_spec.resources["VCPU"], 2)
        self.operate(self.client, one, "resize", "VERIFY_RESIZE", resize_to={"resources": {"VCPU": 1}}, confirm_after=1)
        self.client.wait(one, ("ACTIVE",), timeout=60)
        self.client.terminate(one, wait=True, timeout=30)

    def test_migrates_as_an_operator(self):
        (event,) = self.client.build_and_wait({"VCPU": 1}, timeout=30, force_hosts=["host-1"])
        one = event.instance_uuid
        with Client(os.environ["BERTH_TEST_OPERATOR_URL"]) as operator:
            with self.assertRaises(Refused) as caught:
                operator.operate(one, "evacuate")
            self.assertEqual((caught.exception.code, caught.exception.reason), ("FAILED_PRECONDITION", "host_alive"))
            moved = self.operate(operator, one, "migrate", "VERIFY_RESIZE", target_host="host-2")
            self.assertEqual(moved.host, "host-2")
            self.assertEqual(self.operate(operator, one, "revert", "ACTIVE").host, "host-1")
            self.operate(operator, one, "migrate", "VERIFY_RESIZE", target_host="host-2")
            self.operate(operator, one, "confirm", "ACTIVE")
            self.assertEqual(self.operate(operator, one, "live_migrate", "ACTIVE", target_host="host-1").host, "host-1")
        with self.assertRaises(Refused) as caught:
            self.client.operate(one, "migrate")
        self.assertEqual(caught.exception.reason, "services_only")
        self.client.terminate(one, wait=True, timeout=30)

    def test_tells_what_it_can_not_do(self):
        (event,) = self.client.build_and_wait({"VCPU": 1}, timeout=30)
        for one, operation, reason in (
            (event.instance_uuid, "confirm", "instance_state"),
            (event.instance_uuid, "hibernate", "unknown_operation"),
            (str(uuid.uuid4()), "stop", "no_such_instance"),
        ):
            with self.assertRaises(BerthError) as caught:
                self.client.operate(one, operation)
            self.assertEqual(caught.exception.reason, reason)
        with Client(os.environ["BERTH_TEST_OTHER_URL"]) as other, self.assertRaises(BerthError) as caught:
            other.operate_and_wait(event.instance_uuid, "stop", timeout=30)
        self.assertEqual(caught.exception.reason, "no_such_instance")
        self.client.terminate(event.instance_uuid, wait=True, timeout=30)

    def test_asks_for_anything_that_the_schemas_have(self):
        spec = scheduler.RequestSpec(project_id=self.client.project, user_id="py", resources={"VCPU": 1})
        answer = self.client.call("rpc.scheduler", scheduler.ExplainRequest(request_spec=spec), scheduler.ExplainResponse)
        self.assertGreaterEqual(answer.diagnosis.hosts_considered, 1)

    def test_waits_while_it_listens(self):
        listening = self.client.events(timeout=5)
        (event,) = self.client.build_and_wait({"VCPU": 1}, timeout=30)
        self.client.terminate(event.instance_uuid, wait=True, timeout=30)
        states = []
        for heard in listening:
            if heard.instance_uuid == event.instance_uuid:
                states.append(heard.state)
            if states[-1:] == ["DELETED"]:
                break
        self.assertEqual([one for one in states if one in ("ACTIVE", "DELETED")], ["ACTIVE", "DELETED"])

    def test_goes_on_when_its_connection_is_lost(self):
        listening = self.client.events(timeout=5)
        self.client._connection._connection.close()
        (event,) = self.client.build_and_wait({"VCPU": 1}, timeout=30)
        self.client.terminate(event.instance_uuid, wait=True, timeout=30)
        self.assertIn(event.instance_uuid, (heard.instance_uuid for heard in listening))

    def test_tells_when_the_broker_is_away(self):
        with self.assertRaises(BerthError) as caught:
            Client("amqp://project.demo:secret@127.0.0.1:1/berth", retry_for=0)
        self.assertEqual((caught.exception.code, caught.exception.reason), ("UNAVAILABLE", "broker_away"))

    def test_tells_why_there_is_no_host(self):
        (event,) = self.client.build_and_wait({"VCPU": 100_000}, timeout=30)
        self.assertEqual(event.fault.reason, "no_valid_host")

    def test_tells_why_a_request_is_refused(self):
        with self.assertRaises(Refused) as caught:
            self.client.build_and_wait({"VCPU": 1}, project_id="somebody-else", timeout=30)
        self.assertEqual(caught.exception.reason, "wrong_project")
        with self.assertRaises(Refused) as caught:
            self.client.terminate(str(uuid.uuid4()), wait=True, timeout=30)
        self.assertEqual(caught.exception.reason, "no_such_instance")

    def test_does_not_wait_longer_than_told(self):
        (event,) = self.client.build_and_wait({"VCPU": 1}, timeout=30)
        with self.assertRaises(NotSettled):
            self.client.wait(event.instance_uuid, ("DELETED",), timeout=1)
        self.client.terminate(event.instance_uuid, wait=True, timeout=30)

    def test_hears_what_happens_and_nothing_of_others(self):
        with Client(os.environ["BERTH_TEST_OTHER_URL"]) as other, Client(os.environ["BERTH_TEST_URL"]) as own:
            listening = own.events(timeout=10)
            states = []
            heard = threading.Thread(target=lambda: states.extend(next(listening) for _ in range(3)))
            other.build_and_wait({"VCPU": 1}, name="other", timeout=30)
            heard.start()
            event = None
            while heard.is_alive():
                (event,) = self.client.build_and_wait({"VCPU": 1}, name="own", timeout=30)
                heard.join(timeout=1)
            self.assertEqual({one.name for one in states}, {"own"})
            versions = [one.version for one in states if one.instance_uuid == states[0].instance_uuid]
            self.assertEqual(versions, sorted(set(versions)))


if __name__ == "__main__":
    unittest.main()
